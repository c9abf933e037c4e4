// The launch of a forward convolution, and what an instance says of itself.
#pragma once

#include "bitgate/implicit_gemm/describe.hpp"
#include "support.hpp"

namespace grouped_fwd {

// All tiles of a launch have the same steps. Of depth 1 one kernel serves both kinds.
template <class Variant> auto kernel_of(MainLoop loop) {
  if constexpr (depth_of<Variant>() > 1)
    return loop == MainLoop::all ? kernel_fwd<Variant, MainLoop::all> : kernel_fwd<Variant, MainLoop::none>;
  else
    return kernel_fwd<Variant, MainLoop::mixed>;
}

inline const char* kernel_name(const Facts& facts, MainLoop loop) {
  if (facts.depth == 1)
    return "kernel_fwd";
  return loop == MainLoop::all ? "kernel_fwd_all" : "kernel_fwd_none";
}

inline void record_gemm(bitgate_dispatch_record& record, const bitgate::ConvProblem& problem,
                        const ConvShape& shape, int64_t blocks, bool launched, bool main_loop) {
  bitgate::GemmPart entry{};
  entry.launched = launched;
  entry.main_loop = main_loop;
  for (int i = 0; i < problem.ndim; ++i)
    entry.taps[i] = static_cast<int32_t>(problem.wei.lengths[3 + i]);
  entry.m = shape.images * bitgate::product(shape.output);
  entry.n = shape.k;
  entry.k = shape.c * bitgate::product(shape.filter);
  entry.blocks = blocks;
  bitgate::add_part(record, entry);
}

// What is launched, but for the kernel.
struct Plan {
  const Facts& facts;
  const bitgate::ConvProblem& problem;
  ConvShape shape;
  int64_t chunks;
  Geometry geometry;
  MainLoop loop = MainLoop::mixed;

  [[gnu::noinline]] Plan(const Facts& facts_, const bitgate::ConvRequest& request)
      : facts(facts_), problem(request.problem) {
    bitgate::read_conv(problem, shape, nullptr);
    chunks = chunks_of(facts, request);
    const Layout d_layout = problem.num_d > 0 ? bitgate::layout_of(problem.d[0], problem.ndim) : Layout{};
    geometry = make_geometry(shape, shape.images / chunks, problem.out_op, d_layout);
  }
  int64_t blocks() const {
    return ceil_div(rows_of(geometry), facts.tile_m) * ceil_div(shape.k, facts.tile_n);
  }
  dim3 grid() const {
    return dim3(static_cast<unsigned>(blocks()), static_cast<unsigned>(shape.groups),
                static_cast<unsigned>(chunks));
  }
};

// Of all variants with the same types.
template <class A, class B, class C>
void launch_and_record(const Plan& plan, void (*kernel)(const A*, const B*, const C*, C*, Geometry),
                       const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bool launched = bitgate::launch(
      context, kernel_name(plan.facts, plan.loop), kernel, plan.grid(), dim3(plan.facts.block), 0,
      static_cast<const A*>(buffers.in), static_cast<const B*>(buffers.wei),
      static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.out), plan.geometry);
  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "%s", path_name(plan.facts.special));
  record.launches = launched;
  bitgate::note_gemms(record, 1, 1);
  bitgate::note(record, "split_n", plan.chunks);
  bitgate::note(record, "main_loop", main_loop_name(plan.loop));
  record_gemm(record, plan.problem, plan.shape, plan.blocks() * plan.chunks, launched,
              plan.loop == MainLoop::all);
}

template <class Variant>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  Plan plan(facts_of<Variant>, request);
  MainLoops loops;
  loops.add(SourceOf<Variant>::steps(plan.geometry), 1);
  plan.loop = loops.kind();
  launch_and_record(plan, kernel_of<Variant>(plan.loop), buffers, context);
}

template <class Variant> struct Functions {
  static int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
    return grouped_fwd::supports(facts_of<Variant>, request, reason);
  }
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static constexpr auto run = grouped_fwd::run<Variant>;
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Variant> bitgate::ConvInstance instance(const char* dtypes) {
  static const InstanceName name(dtypes, facts_of<Variant>);
  return describe_any_layout<Variant, Functions<Variant>>(name.text, "fwd", dtypes);
}

// An instance for each variant.
template <class... Variants>
using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Variants>...>;

} // namespace grouped_fwd

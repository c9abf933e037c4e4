// The launch of a forward convolution, and what an instance says of itself.
#pragma once

#include "bitgate/implicit_gemm/describe.hpp"
#include "support.hpp"

namespace grouped_fwd {

// All tiles of a launch have the same steps.
template <class Variant> auto kernel_of(MainLoop loop) {
  if constexpr (has_main_loop_kernels<Variant>)
    return loop == MainLoop::all ? kernel_fwd<Variant, MainLoop::all> : kernel_fwd<Variant, MainLoop::none>;
  else
    return kernel_fwd<Variant, MainLoop::mixed>;
}

template <class Variant> const char* kernel_name(MainLoop loop) {
  if (!has_main_loop_kernels<Variant>)
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

template <class Variant>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using A = typename Variant::ElementA;
  using B = typename Variant::ElementB;
  using C = typename Variant::ElementC;
  using Tile = typename Variant::Tile;
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const int64_t chunks = chunks_of<Variant>(request);
  const Layout d_layout = problem.num_d > 0 ? bitgate::layout_of(problem.d[0], problem.ndim) : Layout{};
  const Geometry geometry = make_geometry(shape, shape.images / chunks, problem.out_op, d_layout);
  MainLoops loops;
  loops.add(SourceOf<Variant>::steps(geometry), 1);
  const MainLoop loop = loops.kind();
  const int64_t blocks = ceil_div(rows_of(geometry), Tile::M) * ceil_div(shape.k, Tile::N);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.groups),
                  static_cast<unsigned>(chunks));
  const bool launched =
      bitgate::launch(context, kernel_name<Variant>(loop), kernel_of<Variant>(loop), grid,
                      dim3(Variant::block), bitgate::asked_lds_bytes<typename Variant::Lds>,
                      static_cast<const A*>(buffers.in), static_cast<const B*>(buffers.wei),
                      static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.out), geometry);

  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "%s", path_name(Variant::special));
  record.launches = launched;
  bitgate::note_gemms(record, 1, 1);
  bitgate::note(record, "split_n", chunks);
  bitgate::note(record, "main_loop", main_loop_name(loop));
  record_gemm(record, problem, shape, blocks * chunks, launched, loop == MainLoop::all);
}

template <class Variant> struct Functions {
  static constexpr auto supports = grouped_fwd::supports<Variant>;
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static constexpr auto run = grouped_fwd::run<Variant>;
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Variant> bitgate::ConvInstance instance(const char* dtypes) {
  static const std::string name = instance_name<Variant>(dtypes, name_part(Variant::special));
  return describe_any_layout<Variant, Functions<Variant>>(name.c_str(), "fwd", dtypes);
}

// An instance for each variant.
template <class... Variants>
using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Variants>...>;

} // namespace grouped_fwd

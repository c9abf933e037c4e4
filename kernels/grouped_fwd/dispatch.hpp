// The launch of a forward convolution, and what an instance says of itself. What needs no kernel is in the
// library's own unit (plan.hpp, support.hpp).
#pragma once

#include "bitgate/implicit_gemm/describe.hpp"
#include "gemm.hpp"

namespace grouped_fwd {

// Which problems an instance takes (support.hpp).
BITGATE_HIDDEN int32_t supports(const Facts& facts, const bitgate::ConvRequest& request,
                                bitgate_reason* reason);

// All tiles of a launch have the same steps.
template <class Variant> auto kernel_of(MainLoop loop) {
  if constexpr (has_main_loop_kernels<Variant>)
    return loop == MainLoop::all ? kernel_fwd<Variant, MainLoop::all> : kernel_fwd<Variant, MainLoop::none>;
  else
    return kernel_fwd<Variant, MainLoop::mixed>;
}

// What is launched, but for the kernel.
struct Plan {
  const Facts& facts;
  const bitgate::ConvProblem& problem;
  ConvShape shape;
  int64_t chunks;
  Geometry geometry;
  MainLoop loop = MainLoop::mixed;

  Plan(const Facts& facts, const bitgate::ConvRequest& request);
  const char* kernel_name() const;
  dim3 grid() const;
  void record(bool launched, bitgate_dispatch_record& record) const;
};

// Of all variants with the same types.
template <class A, class B, class C>
void launch_and_record(const Plan& plan, void (*kernel)(const A*, const B*, const C*, C*, Geometry),
                       const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bool launched = bitgate::launch(
      context, plan.kernel_name(), kernel, plan.grid(), dim3(plan.facts.block), plan.facts.asked_lds,
      static_cast<const A*>(buffers.in), static_cast<const B*>(buffers.wei),
      static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.out), plan.geometry);
  plan.record(launched, context.record);
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

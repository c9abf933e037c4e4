// The launches of backward weight: in one stage, where slices of a split reduction add up in dw, or in two,
// where they add up in a workspace of floats. What needs no kernel is in the library's own unit (plan.hpp,
// support.hpp).
#pragma once

#include "bitgate/implicit_gemm/describe.hpp"
#include "finish.hpp"
#include "gemm.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

// What families differ in: whether slices meet in dw by atomics, and whether dw takes an operation.
struct Capabilities {
  bool atomics, operations;
  int threads; // of a block
};

// Which problems an instance takes (support.hpp).
BITGATE_HIDDEN int32_t supports(const Facts& facts, const ConvRequest& request,
                                const Capabilities& capabilities, bitgate_reason* reason);

// Everything that the launches of one problem share.
struct Job {
  ConvRequest request;
  ConvShape shape;
  Layout d_layout;

  explicit Job(const ConvRequest& request);
  Geometry geometry(int merge = 1) const {
    return make_geometry(shape, merge, request.problem.out_op, d_layout);
  }
  // Cells of dw.
  Cells cells() const {
    const Geometry whole = geometry();
    return {shape.groups * shape.k * columns_of(whole), columns_of(whole), whole};
  }
};

inline dim3 grid_of_cells(const Cells& cells) {
  const int64_t blocks = ceil_div(cells.count, cell_block);
  return dim3(static_cast<unsigned>(blocks < max_cell_blocks ? blocks : max_cell_blocks));
}

BITGATE_HIDDEN dim3 grid_of(const Facts& facts, const Job& job, const Geometry& geometry);

// split_k as asked, or for the device.
BITGATE_HIDDEN int32_t resolve_split_k(const Facts& facts, const Job& job, const Geometry& geometry,
                                       const void* kernel, int threads, Context& context);

// dw = 0, before slices are added to it.
template <class C> void clear_result(const Job& job, C* dw, Context& context) {
  const bitgate_tensor& w = job.request.problem.wei;
  const Cells cells = job.cells();
  int64_t space = 1;
  for (int i = 0; i < w.rank; ++i)
    space += (w.lengths[i] - 1) * w.strides[i];
  context.record.zero_fill = 1;
  if (space == cells.count)
    memset_async(context, "zero_fill", dw, 0, static_cast<size_t>(space) * sizeof(C));
  else
    launch(context, "zero_fill", kernel_clear<C>, grid_of_cells(cells), dim3(cell_block), 0, dw, cells);
}

// The whole GEMM, all slices together, as the record's one entry; and how it was cut.
BITGATE_HIDDEN void record_gemm(const Facts& facts, const Job& job, const Geometry& geometry,
                                const char* path, bool launched, Context& context);

// A GEMM as it is launched: `kernel` with all its steps, of which the device runs so many blocks at once.
struct Plan {
  const Facts& facts;
  Job job;
  Geometry geometry;
  MainLoop loop;
  dim3 grid;

  Plan(const Facts& facts, const ConvRequest& request, const void* kernel, Context& context);
  void record(const char* path, int launches, int wanted, Context& context) const;
};

template <class... Params> const void* address_of(void (*kernel)(Params...)) {
  return reinterpret_cast<const void*>(kernel);
}

// ---- one stage

template <class Variant> struct ResultKernels {
  template <MainLoop loop> static auto of() { return kernel_to_result<Variant, loop>; }
};

// Of all variants with the same types.
template <class A, class B, class C>
void launch_one_stage(const Plan& plan, void (*kernel)(const A*, const B*, const C*, C*, Geometry),
                      const Buffers& buffers, Context& context) {
  auto* dw = static_cast<C*>(buffers.wei);
  if (plan.geometry.slices > 1)
    clear_result(plan.job, dw, context);
  const bool launched =
      launch(context, "kernel_to_result", kernel, plan.grid, dim3(plan.facts.block), plan.facts.asked_lds,
             static_cast<const A*>(buffers.out), static_cast<const B*>(buffers.in),
             static_cast<const C*>(buffers.d[0]), dw, plan.geometry);
  plan.record("one_stage", launched, 1, context);
}

template <class Variant>
void run_one_stage(const ConvRequest& request, const Buffers& buffers, Context& context) {
  using Kernels = ResultKernels<Variant>;
  const Plan plan(facts_of<Variant>, request, address_of(kernel_for<Variant, Kernels>(MainLoop::mixed)),
                  context);
  launch_one_stage(plan, kernel_for<Variant, Kernels>(plan.loop), buffers, context);
}

// ---- two stages

// One float for each cell of dw.
BITGATE_HIDDEN int64_t workspace_bytes(const ConvRequest& request);

template <class Variant> struct WorkspaceKernels {
  template <MainLoop loop> static auto of() { return kernel_to_workspace<Variant, loop>; }
};

template <class C, class A, class B>
void launch_two_stages(const Plan& plan, void (*kernel)(const A*, const B*, float*, Geometry),
                       const Buffers& buffers, Context& context, const char* path) {
  const Cells cells = plan.job.cells();
  auto* workspace = static_cast<float*>(buffers.workspace);
  if (plan.geometry.slices > 1)
    memset_async(context, "clear_workspace", workspace, 0,
                 static_cast<size_t>(workspace_bytes(plan.job.request)));
  const bool summed =
      launch(context, "kernel_to_workspace", kernel, plan.grid, dim3(plan.facts.block), plan.facts.asked_lds,
             static_cast<const A*>(buffers.out), static_cast<const B*>(buffers.in), workspace, plan.geometry);
  const bool finished = launch(context, "kernel_finish", kernel_finish<C>, grid_of_cells(cells),
                               dim3(cell_block), 0, static_cast<const float*>(workspace),
                               static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.wei), cells);
  plan.record(path, summed + finished, 2, context);
}

template <class Variant>
void run_two_stage(const ConvRequest& request, const Buffers& buffers, Context& context, const char* path) {
  using Kernels = WorkspaceKernels<Variant>;
  const Plan plan(facts_of<Variant>, request, address_of(kernel_for<Variant, Kernels>(MainLoop::mixed)),
                  context);
  launch_two_stages<typename Variant::ElementC>(plan, kernel_for<Variant, Kernels>(plan.loop), buffers,
                                                context, path);
}

// ---- what a library says of an instance

// How dw comes about: its functions see tensors with channels last. In one stage slices of a split reduction
// add up in dw, in dw's own type.
template <class Variant_> struct OneStage {
  using Variant = Variant_;
  static int32_t supports(const ConvRequest& request, bitgate_reason* reason) {
    return bwd_weight::supports(facts_of<Variant>, request, {true, false, Variant::block}, reason);
  }
  static constexpr auto workspace_bytes = no_workspace<ConvProblem>;
  static constexpr auto run = run_one_stage<Variant>;
};

// In two stages the GEMM adds its sums up in a workspace of floats; then each is rounded once. With
// `operations` (multiple D) it goes through the operation first, with D tensors of dw's shape.
template <class Variant_, bool operations> struct TwoStages {
  using Variant = Variant_;
  static int32_t supports(const ConvRequest& request, bitgate_reason* reason) {
    return bwd_weight::supports(facts_of<Variant>, request, {false, operations, Variant::block}, reason);
  }
  static constexpr auto workspace_bytes = bwd_weight::workspace_bytes;
  static void run(const ConvRequest& request, const Buffers& buffers, Context& context) {
    run_two_stage<Variant>(request, buffers, context, operations ? "multiple_d" : "two_stage");
  }
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Path> ConvInstance instance(const char* dtypes) {
  static const InstanceName name(dtypes, facts_of<typename Path::Variant>);
  return describe_any_layout<typename Path::Variant, Path>(name.text, "bwd_weight", dtypes);
}

// An instance for each variant.
template <class... Variants>
using OneStageInstances = RegistrationsOf<ConvProblem, instance<OneStage<Variants>>...>;
template <class... Variants>
using TwoStageInstances = RegistrationsOf<ConvProblem, instance<TwoStages<Variants, false>>...>;
template <class... Variants>
using MultipleDInstances = RegistrationsOf<ConvProblem, instance<TwoStages<Variants, true>>...>;

} // namespace bitgate::implicit_gemm::bwd_weight

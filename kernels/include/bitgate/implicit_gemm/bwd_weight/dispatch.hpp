// The launches of backward weight: in one stage, where slices of a split reduction add up in dw, or in two,
// where they add up in a workspace of floats.
#pragma once

#include "bitgate/implicit_gemm/describe.hpp"
#include "finish.hpp"
#include "support.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

// Everything that the launches of one problem share.
struct Job {
  ConvRequest request;
  ConvShape shape;
  Layout d_layout;

  explicit Job(const ConvRequest& request_) : request(request_), d_layout{} {
    read_conv(request.problem, shape, nullptr);
    if (request.problem.num_d > 0)
      d_layout = layout_of(request.problem.d[0], request.problem.ndim);
  }
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

// Blocks of the GEMM without slices, groups included.
template <class Variant> int64_t blocks_of(const Geometry& geometry) {
  return ceil_div(geometry.k, Variant::Tile::M) * ceil_div(columns_of(geometry), Variant::Tile::N);
}

template <class Variant> dim3 grid_of(const Job& job, const Geometry& geometry) {
  return dim3(static_cast<unsigned>(blocks_of<Variant>(geometry)),
              static_cast<unsigned>(job.shape.groups / Variant::merge),
              static_cast<unsigned>(geometry.slices));
}

// split_k as asked, or for the device.
template <class Variant, class... Params>
int32_t resolve_split_k(const Job& job, const Geometry& geometry, void (*kernel)(Params...), int threads,
                        Context& context) {
  if (job.request.problem.split_k != BITGATE_SPLIT_K_AUTO)
    return job.request.problem.split_k;
  if (std::is_same_v<typename Variant::ElementC, int8_t>)
    return 1;
  const int64_t capacity =
      capacity_of(context, job.request.options, kernel, threads, asked_lds_bytes<typename Variant::Lds>);
  const int64_t grid = blocks_of<Variant>(geometry) * (job.shape.groups / Variant::merge);
  return static_cast<int32_t>(automatic_split_k(capacity, grid, terms_of(geometry), Variant::Tile::K));
}

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

inline MainLoop main_loop_of(const Geometry& geometry, int tile_k) {
  MainLoops loops;
  loops.add(static_cast<int32_t>(ceil_div(terms_of(geometry), tile_k)), geometry.slices);
  return loops.kind();
}

// The whole GEMM, all slices together, as the record's one entry; and how it was cut.
template <class Variant>
void record_gemm(const Job& job, const Geometry& geometry, const char* path, bool launched,
                 Context& context) {
  bitgate_dispatch_record& record = context.record;
  const Geometry whole = job.geometry();
  std::snprintf(record.path, sizeof record.path, "%s", path);
  note_gemms(record, 1, 1);
  note(record, "split_k", geometry.slices);
  note(record, "main_loop", main_loop_name(main_loop_of(geometry, Variant::Tile::K)));
  GemmPart entry{};
  entry.launched = launched;
  entry.main_loop = terms_of(geometry) > Variant::Tile::K;
  for (int i = 0; i < job.request.problem.ndim; ++i)
    entry.taps[i] = static_cast<int32_t>(job.request.problem.wei.lengths[3 + i]);
  entry.m = job.shape.k;
  entry.n = columns_of(whole);
  entry.k = terms_of(whole);
  entry.blocks = blocks_of<Variant>(geometry) * geometry.slices;
  add_part(record, entry);
}

// ---- one stage

template <class Variant> struct ResultKernels {
  template <MainLoop loop> static auto of() { return kernel_to_result<Variant, loop>; }
};

template <class Variant>
void run_one_stage(const ConvRequest& request, const Buffers& buffers, Context& context) {
  using C = typename Variant::ElementC;
  const Job job(request);
  Geometry geometry = job.geometry(Variant::merge);
  geometry.slices = resolve_split_k<Variant>(
      job, geometry, kernel_for<Variant, ResultKernels<Variant>>(MainLoop::mixed), Variant::block, context);
  auto* dw = static_cast<C*>(buffers.wei);
  if (geometry.slices > 1)
    clear_result(job, dw, context);
  const bool launched =
      launch(context, "kernel_to_result",
             kernel_for<Variant, ResultKernels<Variant>>(main_loop_of(geometry, Variant::Tile::K)),
             grid_of<Variant>(job, geometry), dim3(Variant::block), asked_lds_bytes<typename Variant::Lds>,
             static_cast<const typename Variant::ElementA*>(buffers.out),
             static_cast<const typename Variant::ElementB*>(buffers.in), static_cast<const C*>(buffers.d[0]),
             dw, geometry);
  record_gemm<Variant>(job, geometry, "one_stage", launched, context);
  context.record.launches = launched;
}

// ---- two stages

// One float for each cell of dw.
inline int64_t workspace_bytes(const ConvRequest& request) {
  return Job(request).cells().count * static_cast<int64_t>(sizeof(float));
}

template <class Variant> struct WorkspaceKernels {
  template <MainLoop loop> static auto of() { return kernel_to_workspace<Variant, loop>; }
};

template <class Variant>
void run_two_stage(const ConvRequest& request, const Buffers& buffers, Context& context, const char* path) {
  using C = typename Variant::ElementC;
  const Job job(request);
  const Cells cells = job.cells();
  Geometry geometry = job.geometry(Variant::merge);
  geometry.slices =
      resolve_split_k<Variant>(job, geometry, kernel_for<Variant, WorkspaceKernels<Variant>>(MainLoop::mixed),
                               Variant::block, context);
  auto* workspace = static_cast<float*>(buffers.workspace);
  if (geometry.slices > 1)
    memset_async(context, "clear_workspace", workspace, 0, static_cast<size_t>(workspace_bytes(request)));
  const bool summed =
      launch(context, "kernel_to_workspace",
             kernel_for<Variant, WorkspaceKernels<Variant>>(main_loop_of(geometry, Variant::Tile::K)),
             grid_of<Variant>(job, geometry), dim3(Variant::block), asked_lds_bytes<typename Variant::Lds>,
             static_cast<const typename Variant::ElementA*>(buffers.out),
             static_cast<const typename Variant::ElementB*>(buffers.in), workspace, geometry);
  const bool finished = launch(context, "kernel_finish", kernel_finish<C>, grid_of_cells(cells),
                               dim3(cell_block), 0, static_cast<const float*>(workspace),
                               static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.wei), cells);
  record_gemm<Variant>(job, geometry, path, summed && finished, context);
  context.record.launches = summed + finished;
}

// ---- what a library says of an instance

// Named like f16_128x64x64_a8b8c8_1x1s1p0_m8_d2_w32.
template <class Variant> std::string name_of(const char* dtypes, const std::string& family_part = "") {
  std::string part = family_part + name_part(Variant::special);
  if (Variant::merge > 1)
    part += "_m" + std::to_string(Variant::merge);
  return instance_name<Variant>(dtypes, part);
}

// How dw comes about: its functions see tensors with channels last. In one stage slices of a split reduction
// add up in dw, in dw's own type.
template <class Variant_> struct OneStage {
  using Variant = Variant_;
  static int32_t supports(const ConvRequest& request, bitgate_reason* reason) {
    return bwd_weight::supports<Variant>(request, {true, false, Variant::block}, reason);
  }
  static constexpr auto workspace_bytes = no_workspace<ConvProblem>;
  static constexpr auto run = run_one_stage<Variant>;
};

// In two stages the GEMM adds its sums up in a workspace of floats; then each is rounded once. With
// `operations` (multiple D) it goes through the operation first, with D tensors of dw's shape.
template <class Variant_, bool operations> struct TwoStages {
  using Variant = Variant_;
  static int32_t supports(const ConvRequest& request, bitgate_reason* reason) {
    return bwd_weight::supports<Variant>(request, {false, operations, Variant::block}, reason);
  }
  static constexpr auto workspace_bytes = bwd_weight::workspace_bytes;
  static void run(const ConvRequest& request, const Buffers& buffers, Context& context) {
    run_two_stage<Variant>(request, buffers, context, operations ? "multiple_d" : "two_stage");
  }
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Path> ConvInstance instance(const char* dtypes) {
  static const std::string name = name_of<typename Path::Variant>(dtypes);
  return describe_any_layout<typename Path::Variant, Path>(name.c_str(), "bwd_weight", dtypes);
}

// An instance for each variant.
template <class... Variants>
using OneStageInstances = RegistrationsOf<ConvProblem, instance<OneStage<Variants>>...>;
template <class... Variants>
using TwoStageInstances = RegistrationsOf<ConvProblem, instance<TwoStages<Variants, false>>...>;
template <class... Variants>
using MultipleDInstances = RegistrationsOf<ConvProblem, instance<TwoStages<Variants, true>>...>;

} // namespace bitgate::implicit_gemm::bwd_weight

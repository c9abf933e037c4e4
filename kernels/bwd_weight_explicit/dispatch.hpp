// Explicit GEMM: with a 1x1 filter, stride 1 and no padding, dw[k,c] = sum over positions of dy[position,k] *
// x[position,c] is one batched GEMM on the tensors as they lie, G its batch: A = dy with m contiguous, B = x
// with n contiguous. A split reduction adds its slices up in a workspace of floats, so that nothing is
// rounded before the end.
#pragma once

#include "bitgate/implicit_gemm/batched_gemm/gemm.hpp"
#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"

namespace bwd_weight_explicit {

using namespace bitgate::implicit_gemm;
namespace gemm = bitgate::implicit_gemm::batched_gemm;
namespace conv = bitgate::implicit_gemm::bwd_weight;

// Results of T, and the sums of slices as floats.
template <class T> using ResultTypes = Types<T>;
template <class T> using WorkspaceTypes = Types<T, T, float>;

// One instance: the GEMM that writes dw, and the one that writes the workspace. Their tiles are the same.
template <class ToResult_, class ToWorkspace_> struct Pair {
  using ToResult = ToResult_;
  using ToWorkspace = ToWorkspace_;
};

// Elements from one position to the next, if all positions of all images lie evenly; else 0.
inline int64_t position_stride(const bitgate_tensor& tensor) {
  int64_t stride = 0, next = 0;
  for (int i = tensor.rank - 1; i >= 1; i = i == 3 ? 1 : i - 1) {
    if (i == 2)
      continue;
    if (tensor.lengths[i] == 1)
      continue;
    if (stride == 0)
      stride = tensor.strides[i];
    else if (tensor.strides[i] != next)
      return 0;
    next = tensor.strides[i] * tensor.lengths[i];
  }
  return stride == 0 ? 1 : stride;
}

// packed: positions of dy and of x are rows of one matrix.
inline int32_t check_packed(const bitgate::ConvProblem& problem, bitgate_reason* reason) {
  const struct {
    const char* name;
    const bitgate_tensor& tensor;
  } parts[] = {{"dy", problem.out}, {"x", problem.in}};
  for (const auto& part : parts)
    if (position_stride(part.tensor) == 0)
      BITGATE_REFUSE(reason, "packed", "positions of %s do not lie evenly in memory: no matrix", part.name);
  return BITGATE_OK;
}

template <class Instance> int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  using Variant = conv::Variant<Specialisation::filter_1x1_stride_1_pad_0, typename Instance::ToResult>;
  const int32_t status = conv::supports(facts_of<Variant>, request, {false, false, Variant::block}, reason);
  return status == BITGATE_OK ? check_packed(request.problem, reason) : status;
}

inline int64_t workspace_bytes(const bitgate::ConvRequest& request) {
  return request.problem.split_k == 1 ? 0 : conv::workspace_bytes(request);
}

inline gemm::Geometry make_geometry(const conv::Job& job, int32_t slices) {
  const bitgate::ConvProblem& problem = job.request.problem;
  const conv::Geometry whole = job.geometry();
  gemm::Geometry geometry{};
  geometry.m = whole.k, geometry.n = whole.c, geometry.k = conv::terms_of(whole);
  geometry.slices = slices;
  geometry.a = {job.shape.y.group, 1, position_stride(problem.out), {}};
  geometry.b = {job.shape.x.group, 1, position_stride(problem.in), {}};
  geometry.c = {job.shape.w.group, job.shape.w.row, 1, {}};
  geometry.op = whole.op;
  return geometry;
}

template <class Instance>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using Direct = typename Instance::ToResult;
  using Split = typename Instance::ToWorkspace;
  using T = typename Direct::ElementC;
  using Variant = conv::Variant<Specialisation::filter_1x1_stride_1_pad_0, Direct>;
  const conv::Job job(request);
  conv::Geometry whole = job.geometry();
  whole.slices = conv::resolve_split_k(facts_of<Variant>, job, whole,
                                       conv::address_of(gemm::kernel_gemm<Split>), Direct::block, context);
  gemm::Geometry geometry = make_geometry(job, whole.slices);
  const dim3 grid = conv::grid_of(facts_of<Variant>, job, whole);
  const auto* dy = static_cast<const T*>(buffers.out);
  const auto* x = static_cast<const T*>(buffers.in);
  const auto* d = static_cast<const T*>(buffers.d[0]);
  auto* dw = static_cast<T*>(buffers.wei);
  int launches = 0;
  if (whole.slices == 1) {
    launches += bitgate::launch(context, "kernel_gemm", gemm::kernel_gemm<Direct>, grid, dim3(Direct::block),
                                0, dy, x, d, dw, geometry);
  } else {
    auto* workspace = static_cast<float*>(buffers.workspace);
    const conv::Cells cells = job.cells();
    geometry.c = bitgate::packed_layout(geometry.m, geometry.n);
    bitgate::memset_async(context, "clear_workspace", workspace, 0,
                          static_cast<size_t>(conv::workspace_bytes(request)));
    launches += bitgate::launch(context, "kernel_gemm", gemm::kernel_gemm<Split>, grid, dim3(Split::block), 0,
                                dy, x, static_cast<const float*>(nullptr), workspace, geometry);
    launches +=
        bitgate::launch(context, "kernel_finish", conv::kernel_finish<T>, conv::grid_of_cells(cells),
                        dim3(conv::cell_block), 0, static_cast<const float*>(workspace), d, dw, cells);
  }
  conv::record_gemm(facts_of<Variant>, job, whole, "explicit", context.error == hipSuccess, context);
  context.record.launches = launches;
}

template <class Pair> struct Functions {
  static constexpr auto supports = bwd_weight_explicit::supports<Pair>;
  static constexpr auto workspace_bytes = bwd_weight_explicit::workspace_bytes;
  static constexpr auto run = bwd_weight_explicit::run<Pair>;
};

template <class Pair> bitgate::ConvInstance instance(const char* dtypes) {
  using Variant = conv::Variant<Specialisation::filter_1x1_stride_1_pad_0, typename Pair::ToResult>;
  static const InstanceName name(dtypes, facts_of<Variant>);
  return describe_any_layout<Variant, Functions<Pair>>(name.text, "bwd_weight", dtypes);
}

// An instance for each pair.
template <class... Pairs> using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Pairs>...>;

} // namespace bwd_weight_explicit

// The healthy kernel and the exported functions: shared by the museum's family and by the libraries of
// ../loads.
#include "bitgate/library.hpp"
#include "visit.hpp"

namespace museum {

__global__ void __launch_bounds__(block_size)
    pointwise(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] = sum_of(x, w, place, shape);
}

Visit::Visit(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context)
    : request(request), buffers(buffers), context(context), x(static_cast<const float*>(buffers.in)),
      w(static_cast<const float*>(buffers.wei)), y(static_cast<float*>(buffers.out)) {
  bitgate::read_conv(request.problem, shape, nullptr);
  cells = shape.groups * shape.images * shape.k * bitgate::product(shape.output);
}

int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  int32_t status = bitgate::read_conv(problem, shape, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_dtypes(problem, {BITGATE_F32, BITGATE_F32, BITGATE_F32, BITGATE_F32}, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_operations(problem, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_unsplit(problem, reason);
  if (status != BITGATE_OK)
    return status;
  if (problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "the result takes no element-wise operation");
  for (int axis = 0; axis < axes; ++axis)
    if (shape.filter[axis] != 1 || shape.stride[axis] != 1 || shape.left_pad[axis] != 0 ||
        shape.output[axis] != shape.input[axis])
      BITGATE_REFUSE(reason, "pointwise", "only a 1x1 filter with stride 1 and no padding");
  return BITGATE_OK;
}

void compute(Visit& visit, hipStream_t stream, float* y) {
  bitgate::Context on{visit.context.record, stream, visit.context.wave_size, visit.context.error};
  bitgate::launch(on, "pointwise", pointwise, blocks_of(visit), dim3(block_size), 0, visit.x, visit.w, y,
                  visit.shape, visit.cells);
  visit.context.error = on.error;
}

void record(Visit& visit) {
  bitgate_dispatch_record& record = visit.context.record;
  std::snprintf(record.path, sizeof record.path, "pointwise");
  record.launches = 1;
  bitgate::note_gemms(record, 1, 1);
  bitgate::GemmPart gemm{};
  gemm.m = visit.cells / visit.shape.groups / visit.shape.k, gemm.n = visit.shape.k, gemm.k = visit.shape.c;
  gemm.launched = visit.context.error == hipSuccess;
  gemm.blocks = blocks_of(visit).x;
  for (int i = 0; i < visit.request.problem.ndim; ++i)
    gemm.taps[i] = 1;
  bitgate::add_part(record, gemm);
}

void healthy(Visit& visit) {
  compute(visit, visit.context.stream, visit.y);
  record(visit);
}

bitgate::ConvInstance described(const char* name, decltype(bitgate::ConvInstance::run) run,
                                decltype(bitgate::ConvInstance::supports) supports,
                                decltype(bitgate::ConvInstance::workspace_bytes) workspace) {
  return {{name, "fwd", "f32", "nhwgc", "f32", {0, 0, 0}, {1, 1, 1}, block_size, 0, {0, 0, 0}, 0},
          supports,
          workspace,
          run};
}

const bitgate::ConvRegistration healthy_registered{described("healthy", run<healthy>)};

} // namespace museum

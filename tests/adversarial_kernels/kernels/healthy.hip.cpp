// The healthy kernel and the exported functions: shared by the adversarial's family and by the libraries of
// ../loads.
#include "bitgate/library.hpp"
#include "call.hpp"

namespace adversarial {

__global__ void __launch_bounds__(block_size)
    pointwise(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] = sum_of(x, w, place, shape);
}

Call::Call(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context)
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

void compute(Call& call, hipStream_t stream, float* y) {
  bitgate::Context on{call.context.record, stream, call.context.wave_size, call.context.error};
  bitgate::launch(on, "pointwise", pointwise, blocks_of(call), dim3(block_size), 0, call.x, call.w, y,
                  call.shape, call.cells);
  call.context.error = on.error;
}

void record(Call& call) {
  bitgate_dispatch_record& record = call.context.record;
  std::snprintf(record.path, sizeof record.path, "pointwise");
  record.launches = 1;
  bitgate::note_gemms(record, 1, 1);
  bitgate::GemmPart gemm{};
  gemm.m = call.cells / call.shape.groups / call.shape.k, gemm.n = call.shape.k, gemm.k = call.shape.c;
  gemm.launched = call.context.error == hipSuccess;
  gemm.blocks = blocks_of(call).x;
  for (int i = 0; i < call.request.problem.ndim; ++i)
    gemm.taps[i] = 1;
  bitgate::add_part(record, gemm);
}

void healthy(Call& call) {
  compute(call, call.context.stream, call.y);
  record(call);
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

} // namespace adversarial

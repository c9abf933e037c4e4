// A user's kernel, whole: backward data of 1x1 convolutions with stride 1 and no padding, in f32.
//
//   dx[g,n,c,i] = sum_k dy[g,n,k,i] * w[g,k,c]
//
// One thread computes one cell of dx; grid-stride, 64-bit indices. Needs nothing of the layouts.
#include "bitgate/conv_shape.hpp"
#include "bitgate/library.hpp"
#include "bitgate/product_predicates.hpp"

namespace pointwise {

using bitgate::axes;
using bitgate::Cell;
using bitgate::ConvShape;
using bitgate::offset_of;

inline constexpr int block_size = 256;
inline constexpr int64_t max_blocks = 1024; // the grid's stride covers the rest

__global__ void __launch_bounds__(block_size)
    kernel(const float* dy, const float* w, float* dx, ConvShape shape) {
  const int64_t cells = shape.groups * shape.images * shape.c * bitgate::product(shape.input);
  for (int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x; cell < cells;
       cell += static_cast<int64_t>(gridDim.x) * block_size) {
    int64_t rest = cell / shape.c;
    Cell at_x{.column = cell % shape.c};
    for (int axis = axes - 1; axis >= 0; --axis) {
      at_x.at[axis] = rest % shape.input[axis];
      rest /= shape.input[axis];
    }
    at_x.row = rest % shape.images, at_x.group = rest / shape.images;
    Cell at_y = at_x;
    float sum = 0;
    for (at_y.column = 0; at_y.column < shape.k; ++at_y.column)
      sum += dy[offset_of(shape.y, at_y)] * w[offset_of(shape.w, {at_x.group, at_y.column, at_x.column})];
    dx[offset_of(shape.x, at_x)] = sum;
  }
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

void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  ConvShape shape;
  bitgate::read_conv(request.problem, shape, nullptr);
  const int64_t positions = shape.groups * shape.images * bitgate::product(shape.input);
  const int64_t blocks = (positions * shape.c + block_size - 1) / block_size;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
  bitgate::launch(context, "pointwise", kernel, grid, dim3(block_size), 0,
                  static_cast<const float*>(buffers.out), static_cast<const float*>(buffers.wei),
                  static_cast<float*>(buffers.in), shape);

  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "pointwise");
  record.launches = 1;
  bitgate::note_gemms(record, 1, 1);
  bitgate::GemmPart gemm{};
  gemm.m = positions / shape.groups, gemm.n = shape.c, gemm.k = shape.k;
  gemm.launched = context.error == hipSuccess;
  gemm.blocks = grid.x;
  for (int i = 0; i < request.problem.ndim; ++i)
    gemm.taps[i] = 1;
  bitgate::add_part(record, gemm);
}

const bitgate::ConvRegistration instance{{{"f32",
                                           "bwd_data",
                                           "f32",
                                           "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc",
                                           "f32",
                                           {0, 0, 0},
                                           {1, 1, 1},
                                           block_size,
                                           0,
                                           {0, 0, 0},
                                           0},
                                          supports,
                                          bitgate::no_workspace,
                                          run}};

} // namespace pointwise

namespace bitgate {
const Family family{"pointwise", nullptr, 0};
} // namespace bitgate

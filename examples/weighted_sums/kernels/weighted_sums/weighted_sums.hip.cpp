// Weighted sums of rows in f32, one thread a row; grid-stride, 64-bit indices, any strides:
//
//   y[r] = sum_c x[r,c] * w[c]
#include "bitgate/library.hpp"
#include "bitgate/record.hpp"

namespace weighted_sums {

inline constexpr int block_size = 64;
inline constexpr int64_t max_blocks = 1024; // the grid's stride covers the rest

struct Problem {
  struct Buffers {
    const float* x;
    const float* w;
    float* y;
  };
  bitgate_tensor x, w, y;
};

int32_t read(const bitgate_problem& problem, Problem& to, bitgate_reason* reason) {
  bitgate::ProblemReader reader(problem, reason);
  reader.tensor("x", to.x);
  reader.tensor("w", to.w);
  reader.tensor("y", to.y);
  return reader.finish();
}

void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers, Problem::Buffers& to) {
  to.x = static_cast<const float*>(bitgate::buffer_of(problem, buffers, "x"));
  to.w = static_cast<const float*>(bitgate::buffer_of(problem, buffers, "w"));
  to.y = static_cast<float*>(bitgate::buffer_of(problem, buffers, "y"));
}

struct Shape {
  int64_t rows, columns;
  int64_t x_row, x_column, w, y; // strides
};

__global__ void __launch_bounds__(block_size) kernel(const float* x, const float* w, float* y, Shape shape) {
  for (int64_t r = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x; r < shape.rows;
       r += static_cast<int64_t>(gridDim.x) * block_size) {
    float sum = 0;
    for (int64_t c = 0; c < shape.columns; ++c)
      sum += x[r * shape.x_row + c * shape.x_column] * w[c * shape.w];
    y[r * shape.y] = sum;
  }
}

int32_t supports(const bitgate::Request<Problem>& request, bitgate_reason* reason) {
  for (const bitgate_tensor* tensor : {&request.problem.x, &request.problem.w, &request.problem.y})
    if (tensor->dtype != BITGATE_F32)
      BITGATE_REFUSE(reason, "dtypes", "%s is not f32", tensor->role);
  return BITGATE_OK;
}

void run(const bitgate::Request<Problem>& request, const Problem::Buffers& buffers,
         bitgate::Context& context) {
  const auto& [x, w, y] = request.problem;
  const Shape shape{x.lengths[0], x.lengths[1], x.strides[0], x.strides[1], w.strides[0], y.strides[0]};
  const int64_t blocks = (shape.rows + block_size - 1) / block_size;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
  bitgate::launch(context, "weighted_sums", kernel, grid, dim3(block_size), 0, buffers.x, buffers.w,
                  buffers.y, shape);
  context.record.launches = 1;
  std::snprintf(context.record.path, sizeof context.record.path, "a_row_a_thread");
}

const bitgate::Registration<Problem> instance{
    {{"f32", "weighted_sums", "f32", "", "f32", {0, 0, 0}, {1, 1, 1}, block_size, 0, {0, 0, 0}, 0},
     supports,
     bitgate::no_workspace,
     run}};

} // namespace weighted_sums

namespace bitgate {
const Family family{"weighted_sums", nullptr, 0};
} // namespace bitgate

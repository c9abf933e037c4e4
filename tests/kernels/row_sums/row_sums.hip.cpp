// An operation that bitgate has never heard of: y[r] = factor * sum_c x[r,c] in f32, one thread a row. A
// mask, if there is one, says which columns count.
#include "bitgate/library.hpp"
#include "bitgate/record.hpp"

namespace row_sums {

struct Problem {
  struct Buffers {
    const float* x;
    const float* mask;
    float* y;
  };
  bitgate_tensor x, mask, y;
  double factor;
};

int32_t read(const bitgate_problem& problem, Problem& to, bitgate_reason* reason) {
  bitgate::ProblemReader reader(problem, reason);
  reader.tensor("x", to.x);
  reader.optional_tensor("mask", to.mask);
  reader.tensor("y", to.y);
  to.factor = 1;
  reader.real("factor", to.factor);
  return reader.finish();
}

void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers, Problem::Buffers& to) {
  to.x = static_cast<const float*>(bitgate::buffer_of(problem, buffers, "x"));
  to.mask = static_cast<const float*>(bitgate::buffer_of(problem, buffers, "mask"));
  to.y = static_cast<float*>(bitgate::buffer_of(problem, buffers, "y"));
}

__global__ void kernel(const float* x, const float* mask, float* y, int64_t columns, float factor) {
  const int64_t row = threadIdx.x;
  float sum = 0;
  for (int64_t c = 0; c < columns; ++c)
    sum += mask == nullptr || mask[c] != 0 ? x[row * columns + c] : 0;
  y[row] = factor * sum;
}

int32_t supports(const bitgate::Request<Problem>& request, bitgate_reason* reason) {
  const bitgate_tensor& x = request.problem.x;
  if (x.lengths[0] > 64)
    BITGATE_REFUSE(reason, "rows", "%lld rows: at most 64", static_cast<long long>(x.lengths[0]));
  return BITGATE_OK;
}

void run(const bitgate::Request<Problem>& request, const Problem::Buffers& buffers,
         bitgate::Context& context) {
  const Problem& problem = request.problem;
  const auto rows = static_cast<unsigned>(problem.x.lengths[0]);
  bitgate::launch(context, "row_sums", kernel, dim3(1), dim3(rows), 0, buffers.x, buffers.mask, buffers.y,
                  problem.x.lengths[1], static_cast<float>(problem.factor));
  context.record.launches = 1;
  std::snprintf(context.record.path, sizeof context.record.path, "a_row_a_thread");
  bitgate::note(context.record, "columns", problem.x.lengths[1]);
}

const bitgate::Registration<Problem> instance{
    {{"f32", "row_sums", "f32", "", "f32", {0, 0, 0}, {1, 1, 1}, 64, 0, {0, 0, 0}, 0},
     supports,
     bitgate::no_workspace,
     run}};

} // namespace row_sums

namespace bitgate {
const Family family{"row_sums", nullptr, 0};
} // namespace bitgate

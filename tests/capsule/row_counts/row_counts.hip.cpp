// value[r] = sum_c x[r,c] and count[r] = how many of them are above zero, one thread a row. It can be told to
// do harm: a wrong count, a count behind the last, a written input, a changed floating-point environment.
#include "bitgate/library.hpp"
#include "bitgate/record.hpp"

#if defined(BITGATE_PLATFORM_HOST)
#include <xmmintrin.h>
#endif

namespace row_counts {

inline constexpr int block_size = 64;

enum class Harm : int32_t { none, count, past_count, input, rounding };

const bitgate::Option options[] = {
    {"harm", "none,count,past_count,input,rounding", "none", "what goes wrong"},
};

struct Problem {
  struct Buffers {
    float* x;
    float* value;
    int32_t* count;
  };
  bitgate_tensor x, value, count;
};

int32_t read(const bitgate_problem& problem, Problem& to, bitgate_reason* reason) {
  bitgate::ProblemReader reader(problem, reason);
  reader.tensor("x", to.x);
  reader.tensor("value", to.value);
  reader.tensor("count", to.count);
  return reader.finish();
}

void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers, Problem::Buffers& to) {
  to.x = static_cast<float*>(bitgate::buffer_of(problem, buffers, "x"));
  to.value = static_cast<float*>(bitgate::buffer_of(problem, buffers, "value"));
  to.count = static_cast<int32_t*>(bitgate::buffer_of(problem, buffers, "count"));
}

struct Shape {
  int64_t rows, columns, pitch;
};

__device__ inline void do_harm(float* x, int32_t* count, int64_t rows, Harm harm) {
  if (harm == Harm::count)
    count[rows - 1] += 1;
  if (harm == Harm::past_count)
    count[rows] = 7;
  if (harm == Harm::input)
    x[0] += 1;
#if defined(BITGATE_PLATFORM_HOST)
  if (harm == Harm::rounding)
    _mm_setcsr(_mm_getcsr() | 0x6000);
#endif
}

__global__ void __launch_bounds__(block_size)
    kernel(float* x, float* value, int32_t* count, Shape shape, Harm harm) {
  const int64_t r = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (r >= shape.rows)
    return;
  float sum = 0;
  int32_t found = 0;
  for (int64_t c = 0; c < shape.columns; ++c) {
    sum += x[r * shape.pitch + c];
    found += x[r * shape.pitch + c] > 0;
  }
  value[r] = sum;
  count[r] = found;
  if (r == shape.rows - 1)
    do_harm(x, count, shape.rows, harm);
}

int32_t supports(const bitgate::Request<Problem>&, bitgate_reason*) {
  return BITGATE_OK;
}

void run(const bitgate::Request<Problem>& request, const Problem::Buffers& buffers,
         bitgate::Context& context) {
  const bitgate_tensor& x = request.problem.x;
  const Shape shape{x.lengths[0], x.lengths[1], x.strides[0]};
  const auto blocks = static_cast<unsigned>((shape.rows + block_size - 1) / block_size);
  const auto is = [&](const char* what) { return request.options.is("harm", what); };
  const Harm harm = is("count")        ? Harm::count
                    : is("past_count") ? Harm::past_count
                    : is("input")      ? Harm::input
                    : is("rounding")   ? Harm::rounding
                                       : Harm::none;
  bitgate::launch(context, "row_counts", kernel, dim3(blocks), dim3(block_size), 0, buffers.x, buffers.value,
                  buffers.count, shape, harm);
  context.record.launches = 1;
  std::snprintf(context.record.path, sizeof context.record.path, "a_row_a_thread");
}

const bitgate::Registration<Problem> instance{
    {{"f32", "row_counts", "f32", "", "f32", {0, 0, 0}, {1, 1, 1}, block_size, 0, {0, 0, 0}, 0},
     supports,
     bitgate::no_workspace,
     run}};

} // namespace row_counts

namespace bitgate {
const Family family{"row_counts", row_counts::options, 1};
} // namespace bitgate

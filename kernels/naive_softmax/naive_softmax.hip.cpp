// The plain softmax: one thread has a row and goes through its admitted cells in order three times, for the
// maximum, for the sum of exp(x - maximum) in f32, and to write the quotients.
#include "bitgate/library.hpp"
#include "bitgate/power.hpp"
#include "bitgate/rows.hpp"

namespace naive_softmax {

using bitgate::Admission;
using bitgate::Number;
using bitgate::RowLayout;

inline constexpr int block = 64;
inline constexpr int64_t max_blocks = 1 << 20;

BITGATE_HD inline float power(float difference) {
  return bitgate::power_of_2(difference * bitgate::log2_e);
}

template <class T>
__global__ void __launch_bounds__(block) kernel_softmax(const T* x, const int32_t* lengths, T* y,
                                                        RowLayout from, RowLayout to, Admission admission) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x; row < admission.rows;
       row += stride) {
    const int64_t limit = bitgate::admitted(admission, lengths, row);
    const T* const cells = x + row * from.row;
    T* const results = y + row * to.row;
    float top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < limit; ++c)
      top = fmaxf(top, Number<T>::widen(cells[c * from.column]));
    for (int64_t c = 0; c < limit; ++c)
      sum += power(Number<T>::widen(cells[c * from.column]) - top);
    for (int64_t c = 0; c < admission.columns; ++c)
      results[c * to.column] =
          Number<T>::narrow(c < limit ? power(Number<T>::widen(cells[c * from.column]) - top) / sum : 0.0f);
  }
}

template <class T>
int32_t supports(const bitgate::Request<bitgate::SoftmaxProblem>& request, bitgate_reason* reason) {
  return bitgate::check_row_dtypes<T>({&request.problem.x, &request.problem.y}, reason);
}

template <class T>
void run(const bitgate::Request<bitgate::SoftmaxProblem>& request,
         const bitgate::SoftmaxProblem::Buffers& buffers, bitgate::Context& context) {
  const bitgate::SoftmaxProblem& problem = request.problem;
  const int64_t blocks = (problem.rows + block - 1) / block;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
  context.record.launches = bitgate::launch(context, "kernel_softmax", kernel_softmax<T>, grid, dim3(block),
                                            0, static_cast<const T*>(buffers.x), buffers.lengths,
                                            static_cast<T*>(buffers.y), bitgate::row_layout(problem.x),
                                            bitgate::row_layout(problem.y), bitgate::admission_of(problem));
  std::snprintf(context.record.path, sizeof context.record.path, "naive");
}

template <class T> bitgate::Instance<bitgate::SoftmaxProblem> instance(const char* dtype) {
  return {{dtype, "softmax", dtype, "", "f32", {}, {1, 1, 1}, block, 0, {}, 0},
          supports<T>,
          bitgate::no_workspace,
          run<T>};
}

const bitgate::Registration<bitgate::SoftmaxProblem> instances[] = {
    bitgate::Registration(instance<float>("f32")),
    bitgate::Registration(instance<bitgate::f16>("f16")),
    bitgate::Registration(instance<bitgate::bf16>("bf16")),
};

} // namespace naive_softmax

namespace bitgate {
const Family family{"naive_softmax", nullptr, 0};
} // namespace bitgate

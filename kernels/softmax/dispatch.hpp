// Softmax of rows: one pass for the maximum and the sum, one that writes. A sum is rescaled whenever its
// maximum grows. Powers are of 2: exp(d) = 2^(d log2 e).
#pragma once

#include "bitgate/power.hpp"
#include "bitgate/row_launch.hpp"

namespace softmax_rows {

using bitgate::Admission;
using bitgate::Number;
using bitgate::RowLayout;
using bitgate::RowWay;

BITGATE_HD inline float power(float difference) {
  return bitgate::power_of_2(difference * bitgate::log2_e);
}

// Of some cells: the maximum, and the sum of exp(x - maximum); of none -inf and 0.
struct Partial {
  float top, sum;

  __device__ void add(float x) {
    if (x <= top) {
      sum += x == -INFINITY ? 0.0f : power(x - top); // -inf - -inf is NaN
    } else {
      sum = scaled(x) + 1.0f;
      top = x;
    }
  }
  // The sum for a maximum that is at least `top`.
  __device__ float scaled(float to) const { return sum == 0.0f ? 0.0f : sum * power(top - to); }
  __device__ Partial merged(const Partial& other) const {
    const float both = fmaxf(top, other.top);
    return {both, scaled(both) + other.scaled(both)};
  }
  __device__ Partial from_lane(int distance) const {
    return {__shfl_xor(top, distance), __shfl_xor(sum, distance)};
  }
};

template <class T, RowWay way, int wave>
__global__ void __launch_bounds__(bitgate::row_block)
    kernel_rows(const T* x, const int32_t* lengths, T* y, RowLayout from, RowLayout to, Admission admission) {
  using Lds = bitgate::OfWaves<Partial, bitgate::row_block / wave>;
  constexpr int step = bitgate::RowTurn<way, wave>::step;
  BITGATE_LDS(Lds, lds);
  const bitgate::RowTurn<way, wave> turn;
  for (int64_t row = turn.row; row < admission.rows; row += turn.rows_step) {
    const int64_t limit = bitgate::admitted(admission, lengths, row);
    const T* const cells = x + row * from.row;
    T* const results = y + row * to.row;
    Partial partial{-INFINITY, 0.0f};
    for (int64_t c = turn.first; c < limit; c += step)
      partial.add(Number<T>::widen(cells[c * from.column]));
    if constexpr (way == RowWay::block)
      partial = bitgate::over_block<wave>(partial, lds);
    else
      partial = bitgate::over_wave<wave>(partial);
    const float share = 1.0f / partial.sum;
    for (int64_t c = turn.first; c < admission.columns; c += step)
      results[c * to.column] = Number<T>::narrow(
          c < limit ? power(Number<T>::widen(cells[c * from.column]) - partial.top) * share : 0.0f);
  }
}

template <class T>
int32_t supports(const bitgate::Request<bitgate::SoftmaxProblem>& request, bitgate_reason* reason) {
  return bitgate::check_row_dtypes<T>({&request.problem.x, &request.problem.y}, reason);
}

template <class T, RowWay way, int wave>
void run(const bitgate::Request<bitgate::SoftmaxProblem>& request,
         const bitgate::SoftmaxProblem::Buffers& buffers, bitgate::Context& context) {
  const bitgate::SoftmaxProblem& problem = request.problem;
  const char* const name = way == RowWay::block ? "kernel_block" : "kernel_wave";
  context.record.launches = bitgate::launch(
      context, name, kernel_rows<T, way, wave>, bitgate::row_grid<way, wave>(problem.rows, request.options),
      dim3(bitgate::row_block), 0, static_cast<const T*>(buffers.x), buffers.lengths,
      static_cast<T*>(buffers.y), bitgate::row_layout(problem.x), bitgate::row_layout(problem.y),
      bitgate::admission_of(problem));
  std::snprintf(context.record.path, sizeof context.record.path, "%s",
                bitgate::row_ways[static_cast<int>(way)]);
}

template <class T, RowWay way, int wave>
bitgate::Instance<bitgate::SoftmaxProblem> instance(const char* dtype) {
  auto made = bitgate::row_instance<bitgate::SoftmaxProblem, way, wave>("softmax", dtype);
  made.supports = supports<T>;
  made.run = run<T, way, wave>;
  return made;
}

// Both ways for elements of T.
template <class T, int wave> struct Registrations {
  explicit Registrations(const char* dtype)
      : each{bitgate::Registration(instance<T, RowWay::block, wave>(dtype)),
             bitgate::Registration(instance<T, RowWay::wave, wave>(dtype))} {}
  bitgate::Registration<bitgate::SoftmaxProblem> each[2];
};

} // namespace softmax_rows

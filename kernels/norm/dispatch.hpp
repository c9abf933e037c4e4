// Layernorm and rmsnorm of rows. A block has a row by Welford's algorithm: each thread keeps count, mean and
// the sum of squares away from it, and these meet by Chan's rule. A wave has a row in two passes, sums of
// cells and then of squares. rmsnorm has a mean of 0.
#pragma once

#include "bitgate/norm.hpp"
#include "bitgate/row_launch.hpp"

namespace norm_rows {

using bitgate::NormGeometry;
using bitgate::Number;
using bitgate::RowWay;

// Of some cells: how many, their mean, and the sum of squares away from it.
struct Moments {
  float count, mean, squares;

  __device__ void add(float x, bool is_centred) {
    count += 1.0f;
    const float before = x - mean;
    mean += is_centred ? before / count : 0.0f;
    squares += before * (x - mean);
  }
  __device__ Moments merged(const Moments& other) const {
    const float both = count + other.count;
    if (both == 0.0f)
      return *this;
    const float apart = other.mean - mean, share = other.count / both;
    return {both, mean + apart * share, squares + other.squares + apart * apart * count * share};
  }
  __device__ Moments from_lane(int distance) const {
    return {__shfl_xor(count, distance), __shfl_xor(mean, distance), __shfl_xor(squares, distance)};
  }
};

struct Sum {
  float value;
  __device__ Sum merged(const Sum& other) const { return {value + other.value}; }
  __device__ Sum from_lane(int distance) const { return {__shfl_xor(value, distance)}; }
};

// Mean, and variance or mean square, of a row.
struct Spread {
  float mean, variance;
};

template <class T, int wave>
__device__ inline Spread spread_of_wave(const T* cells, int first, const NormGeometry& geometry) {
  const float count = static_cast<float>(geometry.columns);
  Sum sum{0.0f}, squares{0.0f};
  if (geometry.is_centred) {
    for (int64_t c = first; c < geometry.columns; c += wave)
      sum.value += Number<T>::widen(cells[c * geometry.x.column]);
    sum = bitgate::over_wave<wave>(sum);
  }
  const float mean = sum.value / count;
  for (int64_t c = first; c < geometry.columns; c += wave) {
    const float away = Number<T>::widen(cells[c * geometry.x.column]) - mean;
    squares.value += away * away;
  }
  return {mean, bitgate::over_wave<wave>(squares).value / count};
}

template <class T, int wave, class Lds>
__device__ inline Spread spread_of_block(const T* cells, int first, const NormGeometry& geometry, Lds& lds) {
  Moments own{0.0f, 0.0f, 0.0f};
  for (int64_t c = first; c < geometry.columns; c += bitgate::row_block)
    own.add(Number<T>::widen(cells[c * geometry.x.column]), geometry.is_centred != 0);
  const Moments all = bitgate::over_block<wave>(own, lds);
  return {all.mean, all.squares / all.count};
}

template <class T, RowWay way, int wave>
__global__ void __launch_bounds__(bitgate::row_block)
    kernel_rows(const T* x, const T* gamma, const T* beta, T* y, float* means, float* rstds,
                NormGeometry geometry) {
  using Lds = bitgate::OfWaves<Moments, bitgate::row_block / wave>;
  constexpr int step = bitgate::RowTurn<way, wave>::step;
  BITGATE_LDS(Lds, lds);
  const bitgate::RowTurn<way, wave> turn;
  for (int64_t row = turn.row; row < geometry.rows; row += turn.rows_step) {
    const T* const cells = x + row * geometry.x.row;
    Spread spread;
    if constexpr (way == RowWay::block)
      spread = spread_of_block<T, wave>(cells, turn.first, geometry, lds);
    else
      spread = spread_of_wave<T, wave>(cells, turn.first, geometry);
    const float rstd = bitgate::rstd_of(spread.variance);
    for (int64_t c = turn.first; c < geometry.columns; c += step)
      y[row * geometry.y.row + c * geometry.y.column] = bitgate::normalised(
          Number<T>::widen(cells[c * geometry.x.column]), spread.mean, rstd, gamma, beta, geometry, c);
    if (turn.first == 0 && means != nullptr)
      means[row * geometry.mean] = spread.mean;
    if (turn.first == 0 && rstds != nullptr)
      rstds[row * geometry.rstd] = rstd;
  }
}

template <class T, RowWay way, int wave>
void run(const bitgate::Request<bitgate::NormProblem>& request, const bitgate::NormProblem::Buffers& buffers,
         bitgate::Context& context) {
  const char* const name = way == RowWay::block ? "kernel_block" : "kernel_wave";
  context.record.launches = bitgate::launch(
      context, name, kernel_rows<T, way, wave>,
      bitgate::row_grid<way, wave>(request.problem.rows, request.options), dim3(bitgate::row_block), 0,
      static_cast<const T*>(buffers.x), static_cast<const T*>(buffers.gamma),
      static_cast<const T*>(buffers.beta), static_cast<T*>(buffers.y), buffers.mean, buffers.rstd,
      bitgate::geometry_of(request.problem));
  std::snprintf(context.record.path, sizeof context.record.path, "%s",
                bitgate::row_ways[static_cast<int>(way)]);
}

template <class T, RowWay way, int wave>
bitgate::Instance<bitgate::NormProblem> instance(const char* operation, const char* prefix,
                                                 const char* dtype) {
  auto made = bitgate::row_instance<bitgate::NormProblem, way, wave>(operation, dtype, prefix);
  made.supports = bitgate::supports_norm<T>;
  made.run = run<T, way, wave>;
  return made;
}

// Both ways and both operations for elements of T.
template <class T, int wave> struct Registrations {
  explicit Registrations(const char* dtype)
      : each{bitgate::Registration(instance<T, RowWay::block, wave>("layernorm", "layernorm_", dtype)),
             bitgate::Registration(instance<T, RowWay::wave, wave>("layernorm", "layernorm_", dtype)),
             bitgate::Registration(instance<T, RowWay::block, wave>("rmsnorm", "rmsnorm_", dtype)),
             bitgate::Registration(instance<T, RowWay::wave, wave>("rmsnorm", "rmsnorm_", dtype))} {}
  bitgate::Registration<bitgate::NormProblem> each[4];
};

} // namespace norm_rows

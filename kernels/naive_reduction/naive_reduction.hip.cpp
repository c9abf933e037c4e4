// The plain reduction: one thread has a row x[o,:,i] and goes through it in order, l = 0, 1, ...
//
//     sum           acc = +0; acc = acc + x[o,l,i] in f32, or in i32 modulo 2^32; rounded once at the end
//     max, argmax   the first cell that no later one is above
//
// Any strides. It shares nothing with kernels/reduction but the reading of a problem.
#include <string>

#include "bitgate/library.hpp"
#include "bitgate/reduction.hpp"

namespace naive_reduction {

using bitgate::offset_of;
using bitgate::Reduced;
using bitgate::ReductionKind;

inline constexpr int block = 64;
inline constexpr int64_t max_blocks = 1 << 20;
inline constexpr int64_t max_length = 2147483647; // a place is an i32

struct Geometry {
  int64_t outer, length, inner;
  bitgate::Layout x, y, index;
};

// Is a strictly above b? NaN is above all that is none, +0 above -0.
BITGATE_HD inline bool above(float a, float b) {
  if (b != b)
    return false;
  if (a != a)
    return true;
  if (a == 0 && b == 0)
    return !__builtin_signbit(a) && __builtin_signbit(b);
  return a > b;
}
BITGATE_HD inline bool above(int32_t a, int32_t b) {
  return a > b;
}

// A NaN as the type's quiet one, everything else as it is.
BITGATE_HD inline float quieted(float value) {
  return value != value ? bitgate::bits_as<float>(0x7FC00000u) : value;
}
BITGATE_HD inline bitgate::f16 quieted(bitgate::f16 value) {
  return (value.bits & 0x7FFF) > 0x7C00 ? bitgate::f16{0x7E00} : value;
}
BITGATE_HD inline bitgate::bf16 quieted(bitgate::bf16 value) {
  return (value.bits & 0x7FFF) > 0x7F80 ? bitgate::bf16{0x7FC0} : value;
}
BITGATE_HD inline int32_t quieted(int32_t value) {
  return value;
}
BITGATE_HD inline int8_t quieted(int8_t value) {
  return value;
}

template <class T>
__global__ void __launch_bounds__(block)
    kernel_sum(const T* x, typename Reduced<T>::Sum* y, Geometry geometry) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * block;
  for (int64_t result = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x;
       result < geometry.outer * geometry.inner; result += stride) {
    const int64_t o = result / geometry.inner, i = result % geometry.inner;
    const T* row = x + offset_of(geometry.x, {o, 0, i});
    typename Reduced<T>::Accumulator sum = 0;
    for (int64_t l = 0; l < geometry.length; ++l)
      sum = bitgate::reduced_sum(sum, Reduced<T>::widen(row[offset_of(geometry.x, {.row = l})]));
    y[offset_of(geometry.y, {o, 0, i})] = Reduced<T>::narrow(sum);
  }
}

// `index` is null where it is not asked for.
template <class T>
__global__ void __launch_bounds__(block) kernel_max(const T* x, T* y, int32_t* index, Geometry geometry) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * block;
  for (int64_t result = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x;
       result < geometry.outer * geometry.inner; result += stride) {
    const int64_t o = result / geometry.inner, i = result % geometry.inner;
    const T* row = x + offset_of(geometry.x, {o, 0, i});
    T best = row[0];
    int64_t place = 0;
    for (int64_t l = 1; l < geometry.length; ++l) {
      const T cell = row[offset_of(geometry.x, {.row = l})];
      if (above(Reduced<T>::widen(cell), Reduced<T>::widen(best)))
        best = cell, place = l;
    }
    y[offset_of(geometry.y, {o, 0, i})] = quieted(best);
    if (index != nullptr)
      index[offset_of(geometry.index, {o, 0, i})] = static_cast<int32_t>(place);
  }
}

template <class T> int32_t supports(const bitgate::ReductionRequest& request, bitgate_reason* reason) {
  const bitgate::ReductionProblem& problem = request.problem;
  if (const int32_t status = bitgate::check_dtypes<T>(problem, reason); status != BITGATE_OK)
    return status;
  if (problem.split_k != 1)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: a row is one thread's", problem.split_k);
  if (problem.length > max_length)
    BITGATE_REFUSE(reason, "index_range", "rows of %lld cells: at most %lld",
                   static_cast<long long>(problem.length), static_cast<long long>(max_length));
  return BITGATE_OK;
}

template <class T>
void run(const bitgate::ReductionRequest& request, const bitgate::ReductionProblem::Buffers& buffers,
         bitgate::Context& context) {
  const bitgate::ReductionProblem& problem = request.problem;
  const Geometry geometry{problem.outer,
                          problem.length,
                          problem.inner,
                          bitgate::layout_of(problem.x),
                          bitgate::result_layout(problem.y),
                          bitgate::result_layout(problem.index)};
  const int64_t blocks = (problem.outer * problem.inner + block - 1) / block;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
  const auto* const from = static_cast<const T*>(buffers.x);
  const bool launched =
      problem.kind == ReductionKind::sum
          ? bitgate::launch(context, "kernel_sum", kernel_sum<T>, grid, dim3(block), 0, from,
                            static_cast<typename Reduced<T>::Sum*>(buffers.y), geometry)
          : bitgate::launch(context, "kernel_max", kernel_max<T>, grid, dim3(block), 0, from,
                            static_cast<T*>(buffers.y), buffers.index, geometry);
  context.record.launches = launched;
  std::snprintf(context.record.path, sizeof context.record.path, "naive");
}

template <class T> bitgate::ReductionInstance instance(const char* dtypes, const char* accumulator) {
  return {{bitgate::dtype_name(Reduced<T>::code),
           "reduction",
           dtypes,
           "",
           accumulator,
           {},
           {1, 1, 1},
           block,
           0,
           {},
           0},
          supports<T>,
          bitgate::no_workspace,
          run<T>};
}

const bitgate::ReductionRegistration instances[] = {
    bitgate::ReductionRegistration(instance<float>("f32", "f32")),
    bitgate::ReductionRegistration(instance<bitgate::f16>("f16", "f32")),
    bitgate::ReductionRegistration(instance<bitgate::bf16>("bf16", "f32")),
    bitgate::ReductionRegistration(instance<int8_t>("i8,i8_i8_i32", "i32")),
    bitgate::ReductionRegistration(instance<int32_t>("i32", "i32")),
};

} // namespace naive_reduction

namespace bitgate {
const Family family{"naive_reduction", nullptr, 0};
} // namespace bitgate

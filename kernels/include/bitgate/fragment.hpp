// Matrix fragments: one matrix instruction's worth of D(MxN) += A(MxK) * B(KxN), shared by the lanes of a
// wave.
//
//   Fragment<A, B, M, N, K, Wave>       A, B: types of the operands' elements
//     Sum                               type of the sums: float, or int32_t for integers
//     OperandA, OperandB, Accumulator   what a lane holds of each
//     exact_range                       every integer in [-exact_range, exact_range] survives accumulation
//     together(work)                    all lanes of the wave do `work`, which may hold any number of the
//     following:
//       load_a(tile, pitch, a)          tile: M x K in LDS, row-major, `pitch` elements from row to row
//       load_b(tile, pitch, b)          tile: K x N in LDS, row-major
//       load_a_turned(tile, pitch, a)   the same of f16 and bf16 that lie turned: K x M in LDS, row-major
//       load_b_turned(tile, pitch, b)   N x K
//       clear(accumulator)
//       multiply(a, b, accumulator)
//       for_each(accumulator, visit)    visit(row, column, value) for the elements that this lane holds
//       update(accumulator, change)     these become change(row, value)
//
// Each platform has one header with its implementation; kernels are written once over this interface. The
// same types and extents are there on all targets of a wave size: where an instruction sums fewer k, or takes
// other types, the implementation takes several steps or wider elements.
//
//   wave   f16 bf16              f32        i8, 8-bit floats of one flavour, also mixed
//   64     32x32x8 16x16x16      16x16x4    16x16x32
//   32     16x16x16              16xNx4     16x16x16
#pragma once

#include "bitgate/number.hpp"

namespace bitgate {

template <class A, class B, int M, int N, int K, int Wave> struct Fragment;

// Parts of what a block does in turn: a barrier, and what the lanes of each wave do together, which has no
// barrier in it.
struct Barrier {
  __device__ __forceinline__ void operator()() const { __syncthreads(); }
};
template <class Fragment, class Work> struct Together {
  Work work;
  __device__ __forceinline__ void operator()() const { Fragment::together(work); }
};
template <class Fragment, class Work> __device__ __forceinline__ auto together(Work work) {
  return Together<Fragment, Work>{work};
}

template <class... Parts> __device__ __forceinline__ void in_turn(const Parts&... parts) {
  (parts(), ...);
}

// What matrix cores' sums hold exactly. suites/platform measures it.
template <class Sum> inline constexpr int64_t exact_range_of = 0;
template <> inline constexpr int64_t exact_range_of<float> = int64_t{1} << 24;
template <> inline constexpr int64_t exact_range_of<int32_t> = (int64_t{1} << 31) - 1;

} // namespace bitgate

#if defined(BITGATE_PLATFORM_HOST)
#include "bitgate/fragment_host.hpp"
#elif defined(BITGATE_WMMA)
#include "bitgate/fragment_wmma.hpp"
#elif defined(BITGATE_MFMA)
#include "bitgate/fragment_mfma.hpp"
#elif defined(BITGATE_PLATFORM_NVIDIA)
#include "bitgate/fragment_nvidia.hpp"
#else
#error                                                                                                       \
    "bitgate: no fragments for this target, or the build does not tell its matrix instructions (platform.hpp)"
#endif

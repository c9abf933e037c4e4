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
//       clear(accumulator)
//       multiply(a, b, accumulator)
//       for_each(accumulator, visit)    visit(row, column, value) for the elements that this lane holds
//
// Each platform has one header with its implementation; kernels are written once over this interface.
#pragma once

#include "bitgate/number.hpp"

namespace bitgate {
template <class A, class B, int M, int N, int K, int Wave> struct Fragment;
}

#if defined(BITGATE_PLATFORM_HOST)
#include "bitgate/fragment_host.hpp"
#elif defined(BITGATE_PLATFORM_AMD) && BITGATE_HAS_WAVE(32)
#include "bitgate/fragment_wmma.hpp"
#elif defined(BITGATE_PLATFORM_AMD)
#include "bitgate/fragment_mfma.hpp"
#elif defined(BITGATE_PLATFORM_NVIDIA)
#include "bitgate/fragment_nvidia.hpp"
#endif

// The platform that this translation unit is compiled for, and the HIP runtime's header. Included by every
// header here that names a HIP type.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP_PLATFORM_HOST__)
#define BITGATE_PLATFORM_HOST 1
#elif defined(__HIP_PLATFORM_AMD__)
#define BITGATE_PLATFORM_AMD 1
#elif defined(__HIP_PLATFORM_NVIDIA__)
#define BITGATE_PLATFORM_NVIDIA 1
#else
#error "bitgate: no platform: this hip/hip_runtime.h defines none of __HIP_PLATFORM_{HOST,AMD,NVIDIA}__"
#endif

// A build for a GPU tells its target and what the table of architectures knows of it (docs/kernels.md):
//   BITGATE_TARGET                        what bitgate_abi() reports: "gfx942"
//   BITGATE_WAVE                          lanes of a wave; AMD
//   BITGATE_LDS_BYTES                     what a block may have (lds.hpp)
//   BITGATE_MFMA, BITGATE_WMMA            matrix instructions, by the generation that fixed their lanes; AMD
//   BITGATE_MATRIX_I8_K                   how many k one of i8 sums; AMD
//   BITGATE_MATRIX_F8_OCP, .._F8_FNUZ     there are ones for 8-bit floats of that flavour; AMD
//   BITGATE_PAIR_ADD_F16, .._BF16         an atomic addition of two neighbours (atomic.hpp)
#ifndef BITGATE_TARGET
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_TARGET "host"
#elif defined(BITGATE_PLATFORM_AMD)
#define BITGATE_TARGET "amd"
#else
#define BITGATE_TARGET "nvidia"
#endif
#endif

// Wave sizes that kernels of this build may have: a GPU has its own, the host runs both.
#if defined(BITGATE_WAVE)
#define BITGATE_HAS_WAVE(size) ((size) == BITGATE_WAVE)
#elif defined(BITGATE_PLATFORM_HOST)
#define BITGATE_HAS_WAVE(size) 1
#elif defined(BITGATE_PLATFORM_NVIDIA)
#define BITGATE_HAS_WAVE(size) ((size) == 32)
#else
#define BITGATE_HAS_WAVE(size) ((size) == 64)
#endif

// Threads of a block, and blocks that a compute unit is to hold at once: NVIDIA's compiler makes do with as
// many registers. Others take the second number for waves; they find their own.
#if defined(BITGATE_PLATFORM_NVIDIA)
#define BITGATE_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#else
#define BITGATE_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads)
#endif

// Functions used on both sides.
#define BITGATE_HD __host__ __device__
// A part that several kernels share: inlined into each on a GPU, a function of its own on the host, where
// that halves the time to compile.
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_SHARED_PART __attribute__((noinline))
#else
#define BITGATE_SHARED_PART __device__ __forceinline__
#endif
// BITGATE_UNROLL: at most so many rounds of a loop at once, where a compiler for GPUs would unroll it whole,
// move its loads to the front and run out of registers. BITGATE_NO_LOOP: so few rounds that straight code is
// better, which the host's compiler does not see by itself. BITGATE_NO_VECTOR, in a loop's body: the host's
// compiler would read as one vector what has just been written piece by piece, and wait for the cache.
#define BITGATE_PRAGMA(text) _Pragma(#text)
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_UNROLL(rounds)
#define BITGATE_NO_LOOP(rounds) BITGATE_PRAGMA(GCC unroll rounds)
#define BITGATE_NO_VECTOR asm volatile("")
#else
#define BITGATE_UNROLL(rounds) BITGATE_PRAGMA(unroll rounds)
#define BITGATE_NO_LOOP(rounds)
#define BITGATE_NO_VECTOR
#endif
namespace bitgate {
// May a thread leave out what it does for nothing? On a GPU the others of its wave would wait for it.
#if defined(BITGATE_PLATFORM_HOST)
inline constexpr bool branches_are_cheap = true;
#else
inline constexpr bool branches_are_cheap = false;
#endif
// Kernel arguments that are loaded once more, here: a compiler for AMD loads them all when a kernel starts,
// and keeps them in scalar registers until their last use.
template <class T> BITGATE_HD inline const T& loaded_here(const T& arguments) {
#if defined(__AMDGCN__)
  int nothing = 0;
  asm volatile("" : "+s"(nothing));
  return (&arguments)[nothing];
#else
  return arguments;
#endif
}
} // namespace bitgate
// One library's own symbols: two families in one process must not share registries, kernels or LDS.
#define BITGATE_HIDDEN __attribute__((visibility("hidden")))

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

// What bitgate_abi() reports. A build for a GPU names its target: -DBITGATE_TARGET='"gfx942"'.
#ifndef BITGATE_TARGET
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_TARGET "host"
#elif defined(BITGATE_PLATFORM_AMD)
#define BITGATE_TARGET "amd"
#else
#define BITGATE_TARGET "nvidia"
#endif
#endif

// Wave sizes that kernels of this build may have: the host runs both, a GPU has its own. A build for AMD
// states it: -DBITGATE_WAVE=64 (gfx9) or 32 (gfx11, gfx12).
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_HAS_WAVE(size) 1
#elif defined(BITGATE_PLATFORM_NVIDIA)
#define BITGATE_HAS_WAVE(size) ((size) == 32)
#elif defined(BITGATE_WAVE)
#define BITGATE_HAS_WAVE(size) ((size) == BITGATE_WAVE)
#else
#define BITGATE_HAS_WAVE(size) ((size) == 64)
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
// At most so many rounds of a loop at once, where a compiler would unroll it whole, move its loads to the
// front and run out of registers.
#if defined(BITGATE_PLATFORM_HOST)
#define BITGATE_UNROLL(rounds)
#else
#define BITGATE_UNROLL(rounds) BITGATE_PRAGMA(unroll rounds)
#define BITGATE_PRAGMA(text) _Pragma(#text)
#endif
namespace bitgate {
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

// The words of HIP C++ that are no C++: on the host a kernel is an ordinary function.
#pragma once

// libstdc++ writes __attribute__((__noinline__)) here; it must be read before the macro exists.
#include <memory>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
// One instance for each OS thread, and all threads of a block run on one OS thread: that is a block's memory.
// The ABI tag marks the variable's symbol, so that the runtime can find and poison it, and nothing else
// (lds_symbols).
#define __shared__ __attribute__((abi_tag("bitgate_lds"))) static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __HIP_PLATFORM_HOST__ 1
#define __BITGATE_PLATFORM_HOST__ 1

#define HIP_KERNEL_NAME(...) __VA_ARGS__

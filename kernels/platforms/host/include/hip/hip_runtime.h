// HIP C++ for the host: include this in a kernel file, compile it with a C++20 compiler and the flags of
// bitgate.kernel.build.flags, and link it against libamdhip64.so of the host platform.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hip/hip_runtime_api.h"
#include "hip/host_detail/abi.hpp"
#include "hip/host_detail/atomic.hpp"
#include "hip/host_detail/launch.hpp"
#include "hip/host_detail/lds.hpp"
#include "hip/host_detail/math.hpp"
#include "hip/host_detail/qualifiers.hpp"
#include "hip/host_detail/thread_indices.hpp"
#include "hip/host_detail/vector_types.hpp"
#include "hip/host_detail/wave.hpp"

// A failed assert inside a kernel is a HIP error (hipErrorAssert), not the end of the process.
#ifndef NDEBUG
#undef assert
#define assert(expression)                                                                                   \
  (static_cast<bool>(expression) ? static_cast<void>(0)                                                      \
                                 : __bitgate_assert_failed(#expression, __FILE__, __LINE__))
#endif

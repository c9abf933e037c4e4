// Atomic operations on global memory and LDS, relaxed, seen by the whole device. Where a target has no
// instruction for a type the compiler writes a compare-and-swap loop.
#pragma once

#define BITGATE_AMD_ATOMIC(name, operation, T)                                                               \
  __device__ __forceinline__ T name(T* address, T value) {                                                   \
    return __hip_atomic_##operation(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);             \
  }
#define BITGATE_AMD_ATOMIC_INTEGERS(name, operation)                                                         \
  BITGATE_AMD_ATOMIC(name, operation, int)                                                                   \
  BITGATE_AMD_ATOMIC(name, operation, unsigned)                                                              \
  BITGATE_AMD_ATOMIC(name, operation, unsigned long long)

BITGATE_AMD_ATOMIC_INTEGERS(atomicAdd, fetch_add)
BITGATE_AMD_ATOMIC_INTEGERS(atomicAnd, fetch_and)
BITGATE_AMD_ATOMIC_INTEGERS(atomicExch, exchange)
BITGATE_AMD_ATOMIC_INTEGERS(atomicMax, fetch_max)
BITGATE_AMD_ATOMIC_INTEGERS(atomicMin, fetch_min)
BITGATE_AMD_ATOMIC_INTEGERS(atomicOr, fetch_or)
BITGATE_AMD_ATOMIC_INTEGERS(atomicXor, fetch_xor)
BITGATE_AMD_ATOMIC(atomicAdd, fetch_add, float)
BITGATE_AMD_ATOMIC(atomicAdd, fetch_add, double)
BITGATE_AMD_ATOMIC(atomicExch, exchange, float)

#define BITGATE_AMD_CAS(T)                                                                                   \
  __device__ __forceinline__ T atomicCAS(T* address, T expected, T value) {                                  \
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,      \
                                         __HIP_MEMORY_SCOPE_AGENT);                                          \
    return expected;                                                                                         \
  }
BITGATE_AMD_CAS(int)
BITGATE_AMD_CAS(unsigned)
BITGATE_AMD_CAS(unsigned long long)

#undef BITGATE_AMD_ATOMIC
#undef BITGATE_AMD_ATOMIC_INTEGERS
#undef BITGATE_AMD_CAS

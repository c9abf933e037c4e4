// A block's memory. BITGATE_LDS is the form to write: one struct a kernel, with guard pages and poison on the
// host.
#pragma once

#include "hip/host_detail/abi.hpp"

// Struct& name = the block's LDS. On GPUs the same macro declares a __shared__ variable.
#define BITGATE_LDS(Struct, name)                                                                            \
  static const char name##_bitgate_site = 0;                                                                 \
  Struct& name =                                                                                             \
      *static_cast<Struct*>(__bitgate_lds_at(&name##_bitgate_site, sizeof(Struct), alignof(Struct)))

// Struct first, so that a type with commas goes through: BITGATE_LDS_T((Tile<int, 4>), tile) is written with
// a using.
#define HIP_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(__bitgate_dynamic_lds());
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

inline void __syncthreads() {
  __asm__ volatile("" ::: "memory"); // a static LDS variable that does not escape must reach memory too
  __bitgate_syncthreads();
  __asm__ volatile("" ::: "memory");
}
namespace bitgate_host {
// __syncthreads(), work() by the first lane of each wave, which knows of no barrier itself, __syncthreads():
// in one meeting, and true; or the first barrier alone, and false, where threads come from different places
// or the order of threads is another behind each barrier.
template <class Work> bool sync_for_work(const Work& work) {
  __asm__ volatile("" ::: "memory");
  __bitgate_syncthreads_for_work([](const void* mine) { (*static_cast<const Work*>(mine))(); }, &work);
  __asm__ volatile("" ::: "memory");
  return workDone;
}
} // namespace bitgate_host

#define BITGATE_BARRIER_REDUCTION(suffix, kind)                                                              \
  inline int __syncthreads_##suffix(int predicate) {                                                         \
    __asm__ volatile("" ::: "memory");                                                                       \
    const int result = __bitgate_syncthreads_reduce(kind, predicate);                                        \
    __asm__ volatile("" ::: "memory");                                                                       \
    return result;                                                                                           \
  }
BITGATE_BARRIER_REDUCTION(count, bitgateBarrierCount)
BITGATE_BARRIER_REDUCTION(and, bitgateBarrierAnd)
BITGATE_BARRIER_REDUCTION(or, bitgateBarrierOr)
#undef BITGATE_BARRIER_REDUCTION

inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_system() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __threadfence_block() {
  __asm__ volatile("" ::: "memory");
}

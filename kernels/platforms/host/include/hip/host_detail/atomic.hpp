// Atomics: real ones, because blocks run on several OS threads. Relaxed, as on a GPU; each returns the old
// value.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "hip/host_detail/abi.hpp"

#if defined(__SANITIZE_THREAD__)
#define BITGATE_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BITGATE_WATCHED 1
#endif
#endif

namespace bitgate_host {

template <class T>
concept AtomicInteger = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

// Read, change, try to write, for any type of 4 or 8 bytes.
template <class T, class Change> T atomic_update(T* address, Change change) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static_assert(sizeof(T) == sizeof(Bits), "atomics work on 4 or 8 bytes");
  auto* const bits = reinterpret_cast<Bits*>(address);
  Bits old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, std::bit_cast<Bits>(change(std::bit_cast<T>(old))), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<T>(old);
}

// The same for a type of 2 bytes.
template <class T, class Change> T atomic_update_16(T* address, Change change) {
  auto* const bits = reinterpret_cast<uint16_t*>(address);
  uint16_t old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, std::bit_cast<uint16_t>(change(std::bit_cast<T>(old))),
                                      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<T>(old);
}

// Tells the watch for races that the operation is for this block alone (HIP's memory scopes below 4).
struct AtomicScope {
#if defined(BITGATE_WATCHED)
  explicit AtomicScope(int scope) { __bitgate_block_scope(scope < 4); }
  ~AtomicScope() { __bitgate_block_scope(false); }
#else
  explicit AtomicScope(int) {}
#endif
};

// The value's type must not take part in deduction: atomicAdd(&unsigned_counter, 1) is ordinary code.
template <class T> using Value = std::type_identity_t<T>;

} // namespace bitgate_host

template <bitgate_host::AtomicInteger T> T atomicAdd(T* address, bitgate_host::Value<T> value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <std::floating_point T> T atomicAdd(T* address, bitgate_host::Value<T> value) {
  return bitgate_host::atomic_update(address, [value](T old) { return old + value; });
}
template <bitgate_host::AtomicInteger T> T atomicSub(T* address, bitgate_host::Value<T> value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <std::floating_point T> T atomicSub(T* address, bitgate_host::Value<T> value) {
  return bitgate_host::atomic_update(address, [value](T old) { return old - value; });
}
template <class T>
  requires std::is_arithmetic_v<T>
T atomicMax(T* address, bitgate_host::Value<T> value) {
  return bitgate_host::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
  requires std::is_arithmetic_v<T>
T atomicMin(T* address, bitgate_host::Value<T> value) {
  return bitgate_host::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <bitgate_host::AtomicInteger T> T atomicAnd(T* address, bitgate_host::Value<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <bitgate_host::AtomicInteger T> T atomicOr(T* address, bitgate_host::Value<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <bitgate_host::AtomicInteger T> T atomicXor(T* address, bitgate_host::Value<T> value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
  requires std::is_arithmetic_v<T>
T atomicExch(T* address, bitgate_host::Value<T> value) {
  return bitgate_host::atomic_update(address, [value](T) { return value; });
}
template <bitgate_host::AtomicInteger T>
T atomicCAS(T* address, bitgate_host::Value<T> compare, bitgate_host::Value<T> value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return bitgate_host::atomic_update(address, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return bitgate_host::atomic_update(
      address, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// On AMD GPUs the "unsafe" form may skip denormals or fine-grained memory; here it is the safe one.
template <class T> T unsafeAtomicAdd(T* address, bitgate_host::Value<T> value) {
  return atomicAdd(address, value);
}
template <class T> T safeAtomicAdd(T* address, bitgate_host::Value<T> value) {
  return atomicAdd(address, value);
}

// Scopes are the same thing on one CPU; the watch for races tells them apart.
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#define BITGATE_ATOMIC_SCOPES(name)                                                                          \
  template <class T> T name##_system(T* address, bitgate_host::Value<T> value) {                             \
    return name(address, value);                                                                             \
  }                                                                                                          \
  template <class T>                                                                                         \
  [[gnu::always_inline]] inline T name##_block(T* address, bitgate_host::Value<T> value) {                   \
    const bitgate_host::AtomicScope scope(__HIP_MEMORY_SCOPE_WORKGROUP);                                     \
    return name(address, value);                                                                             \
  }
BITGATE_ATOMIC_SCOPES(atomicAdd)
BITGATE_ATOMIC_SCOPES(atomicMax)
BITGATE_ATOMIC_SCOPES(atomicMin)
BITGATE_ATOMIC_SCOPES(atomicExch)
BITGATE_ATOMIC_SCOPES(atomicAnd)
BITGATE_ATOMIC_SCOPES(atomicOr)
BITGATE_ATOMIC_SCOPES(atomicXor)
#undef BITGATE_ATOMIC_SCOPES

// HIP's spelling of atomics with a scope, where the compiler has none.
#if !__has_builtin(__hip_atomic_load)
#define __hip_atomic_load(address, order, scope)                                                             \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_load_n(address, order))
#define __hip_atomic_store(address, value, order, scope)                                                     \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_store_n(address, value, order))
#define __hip_atomic_exchange(address, value, order, scope)                                                  \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_exchange_n(address, value, order))
#define __hip_atomic_fetch_add(address, value, order, scope)                                                 \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_fetch_add(address, value, order))
#define __hip_atomic_fetch_and(address, value, order, scope)                                                 \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_fetch_and(address, value, order))
#define __hip_atomic_fetch_or(address, value, order, scope)                                                  \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_fetch_or(address, value, order))
#define __hip_atomic_fetch_xor(address, value, order, scope)                                                 \
  (static_cast<void>(::bitgate_host::AtomicScope(scope)), __atomic_fetch_xor(address, value, order))
#endif

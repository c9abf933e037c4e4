// Operators and values that hipCUB's primitives share.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include <hip/hip_runtime.h>

#include <thrust/thrust.h>

namespace hipcub {

#define BITGATE_OPERATOR(name, expression)                                                                   \
  struct name {                                                                                              \
    template <class A, class B> constexpr auto operator()(const A& a, const B& b) const {                    \
      return expression;                                                                                     \
    }                                                                                                        \
  };
BITGATE_OPERATOR(Sum, a + b)
BITGATE_OPERATOR(Max, a < b ? b : a)
BITGATE_OPERATOR(Min, b < a ? b : a)
BITGATE_OPERATOR(Equality, a == b)
BITGATE_OPERATOR(Inequality, a != b)
#undef BITGATE_OPERATOR

template <class K = int, class V = int> struct KeyValuePair {
  using Key = K;
  using Value = V;
  K key;
  V value;
  bool operator!=(const KeyValuePair& other) const { return key != other.key || value != other.value; }
};
struct ArgMax {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return a.value < b.value || (!(b.value < a.value) && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class K, class V>
  KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
    return b.value < a.value || (!(a.value < b.value) && b.key < a.key) ? b : a;
  }
};

template <class T> struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* other) : d_buffers{current, other} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

// Memory of the device. What a caller gives back is free at once: there is nothing to save by keeping it.
struct CachingDeviceAllocator {
  explicit CachingDeviceAllocator(bool = false) {}
  CachingDeviceAllocator(unsigned, unsigned, unsigned, size_t, bool = false, bool = false) {}
  hipError_t DeviceAllocate(void** memory, size_t bytes, hipStream_t = nullptr) {
    return hipMalloc(memory, bytes);
  }
  hipError_t DeviceAllocate(int, void** memory, size_t bytes, hipStream_t = nullptr) {
    return hipMalloc(memory, bytes);
  }
  hipError_t DeviceFree(void* memory) { return hipFree(memory); }
  hipError_t DeviceFree(int, void* memory) { return hipFree(memory); }
  hipError_t FreeAllCached() { return hipSuccess; }
};

enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier How = LOAD_DEFAULT, class I> auto ThreadLoad(I from) {
  return *from;
}
template <CacheStoreModifier How = STORE_DEFAULT, class I, class T> void ThreadStore(I to, T value) {
  *to = value;
}

template <class T> struct NullType {};
using thrust::constant_iterator;
template <class T> using CountingInputIterator = thrust::counting_iterator<T>;
template <class T> using ConstantInputIterator = thrust::constant_iterator<T>;
template <class T, class F, class I> using TransformInputIterator = thrust::transform_iterator<F, I>;

namespace bitgate {
inline unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
} // namespace bitgate

} // namespace hipcub

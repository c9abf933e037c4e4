// Primitives of the whole device. Asked without memory, each says that it needs one byte.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "common.hpp"

namespace hipcub {
namespace bitgate {

// Does the work if there is memory for it, after what is on the stream.
template <class Work> hipError_t done(void* memory, size_t& bytes, hipStream_t stream, Work work) {
  if (!memory) {
    bytes = 1;
    return hipSuccess;
  }
  const hipError_t error = hipStreamSynchronize(stream);
  if (error == hipSuccess)
    work();
  return error;
}

// The bits of a key, ordered as radix sort orders them: from `begin` to `end`.
template <class K> unsigned long long radix(K key, int begin, int end) {
  unsigned long long bits = 0;
  std::memcpy(&bits, &key, sizeof key);
  constexpr int size = 8 * sizeof(K);
  const unsigned long long sign = 1ull << (size - 1);
  if constexpr (std::is_floating_point_v<K>)
    bits = bits & sign ? ~bits : bits | sign;
  else if constexpr (std::is_signed_v<K>)
    bits ^= sign;
  const int width = std::min(end, size) - begin;
  return bits >> begin & (width >= 64 ? ~0ull : (1ull << width) - 1);
}
template <class K, class V>
void sort(const K* keys, K* keysOut, const V* values, V* valuesOut, size_t count, bool down, int begin,
          int end) {
  const std::vector<K> from(keys, keys + count);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto x = radix(from[a], begin, end), y = radix(from[b], begin, end);
    return down ? y < x : x < y;
  });
  if (values) {
    const std::vector<V> carried(values, values + count);
    for (size_t at = 0; at < count; ++at)
      valuesOut[at] = carried[order[at]];
  }
  for (size_t at = 0; at < count; ++at)
    keysOut[at] = from[order[at]];
}

} // namespace bitgate

struct DeviceReduce {
  template <class I, class O, class N, class F, class T>
  static hipError_t Reduce(void* memory, size_t& bytes, I in, O out, N count, F op, T init,
                           hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      auto sum = static_cast<std::decay_t<T>>(init);
      for (N at = 0; at < count; ++at)
        sum = op(sum, in[at]);
      *out = sum;
    });
  }
  template <class I, class O, class N>
  static hipError_t Sum(void* memory, size_t& bytes, I in, O out, N count, hipStream_t stream = nullptr) {
    using T = typename std::iterator_traits<I>::value_type;
    return Reduce(memory, bytes, in, out, count, hipcub::Sum(), T(0), stream);
  }
  template <class I, class O, class N>
  static hipError_t Max(void* memory, size_t& bytes, I in, O out, N count, hipStream_t stream = nullptr) {
    using T = typename std::iterator_traits<I>::value_type;
    return Reduce(memory, bytes, in, out, count, hipcub::Max(), std::numeric_limits<T>::lowest(), stream);
  }
  template <class I, class O, class N>
  static hipError_t Min(void* memory, size_t& bytes, I in, O out, N count, hipStream_t stream = nullptr) {
    using T = typename std::iterator_traits<I>::value_type;
    return Reduce(memory, bytes, in, out, count, hipcub::Min(), std::numeric_limits<T>::max(), stream);
  }
  template <class I, class O, class N>
  static hipError_t ArgMax(void* memory, size_t& bytes, I in, O out, N count, hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      const auto best = std::max_element(in, in + count);
      *out = {static_cast<int>(best - in), *best};
    });
  }
  template <class I, class O, class N>
  static hipError_t ArgMin(void* memory, size_t& bytes, I in, O out, N count, hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      const auto best = std::min_element(in, in + count);
      *out = {static_cast<int>(best - in), *best};
    });
  }
  template <class K, class UO, class V, class AO, class C, class F, class N>
  static hipError_t ReduceByKey(void* memory, size_t& bytes, K keys, UO unique, V values, AO sums, C runs,
                                F op, N count, hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      const auto ends = thrust::bitgate::Algorithms::reduce_by_key(keys, keys + count, values, unique, sums,
                                                                   std::equal_to<>(), op);
      *runs = static_cast<std::decay_t<decltype(*runs)>>(ends.first - unique);
    });
  }
};

struct DeviceScan {
  template <class I, class O, class F, class T, class N>
  static hipError_t ExclusiveScan(void* memory, size_t& bytes, I in, O out, F op, T init, N count,
                                  hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream,
                         [&] { thrust::bitgate::Algorithms::exclusive_scan(in, in + count, out, init, op); });
  }
  template <class I, class O, class F, class N>
  static hipError_t InclusiveScan(void* memory, size_t& bytes, I in, O out, F op, N count,
                                  hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream,
                         [&] { thrust::bitgate::Algorithms::inclusive_scan(in, in + count, out, op); });
  }
  template <class I, class O, class N>
  static hipError_t ExclusiveSum(void* memory, size_t& bytes, I in, O out, N count,
                                 hipStream_t stream = nullptr) {
    using T = typename std::iterator_traits<I>::value_type;
    return ExclusiveScan(memory, bytes, in, out, Sum(), T(0), count, stream);
  }
  template <class I, class O, class N>
  static hipError_t InclusiveSum(void* memory, size_t& bytes, I in, O out, N count,
                                 hipStream_t stream = nullptr) {
    return InclusiveScan(memory, bytes, in, out, Sum(), count, stream);
  }
};

struct DeviceRadixSort {
#define BITGATE_SORTS(suffix, down)                                                                          \
  template <class K, class N>                                                                                \
  static hipError_t SortKeys##suffix(void* memory, size_t& bytes, const K* in, K* out, N count,              \
                                     int begin = 0, int end = 8 * sizeof(K), hipStream_t stream = nullptr) { \
    return bitgate::done(memory, bytes, stream, [&] {                                                        \
      bitgate::sort<K, char>(in, out, nullptr, nullptr, static_cast<size_t>(count), down, begin, end);       \
    });                                                                                                      \
  }                                                                                                          \
  template <class K, class N>                                                                                \
  static hipError_t SortKeys##suffix(void* memory, size_t& bytes, DoubleBuffer<K>& keys, N count,            \
                                     int begin = 0, int end = 8 * sizeof(K), hipStream_t stream = nullptr) { \
    const hipError_t error =                                                                                 \
        SortKeys##suffix(memory, bytes, keys.Current(), keys.Alternate(), count, begin, end, stream);        \
    keys.selector ^= memory != nullptr;                                                                      \
    return error;                                                                                            \
  }                                                                                                          \
  template <class K, class V, class N>                                                                       \
  static hipError_t SortPairs##suffix(void* memory, size_t& bytes, const K* keys, K* keysOut,                \
                                      const V* values, V* valuesOut, N count, int begin = 0,                 \
                                      int end = 8 * sizeof(K), hipStream_t stream = nullptr) {               \
    return bitgate::done(memory, bytes, stream, [&] {                                                        \
      bitgate::sort(keys, keysOut, values, valuesOut, static_cast<size_t>(count), down, begin, end);         \
    });                                                                                                      \
  }                                                                                                          \
  template <class K, class V, class N>                                                                       \
  static hipError_t SortPairs##suffix(void* memory, size_t& bytes, DoubleBuffer<K>& keys,                    \
                                      DoubleBuffer<V>& values, N count, int begin = 0,                       \
                                      int end = 8 * sizeof(K), hipStream_t stream = nullptr) {               \
    const hipError_t error =                                                                                 \
        SortPairs##suffix(memory, bytes, keys.Current(), keys.Alternate(), values.Current(),                 \
                          values.Alternate(), count, begin, end, stream);                                    \
    keys.selector ^= memory != nullptr, values.selector ^= memory != nullptr;                                \
    return error;                                                                                            \
  }
  BITGATE_SORTS(, false)
  BITGATE_SORTS(Descending, true)
#undef BITGATE_SORTS
};

struct DeviceSelect {
  template <class I, class F, class O, class C, class N>
  static hipError_t Flagged(void* memory, size_t& bytes, I in, F flags, O out, C selected, N count,
                            hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      O to = out;
      for (N at = 0; at < count; ++at)
        if (flags[at])
          *to = in[at], ++to;
      *selected = static_cast<std::decay_t<decltype(*selected)>>(to - out);
    });
  }
  template <class I, class O, class C, class N, class P>
  static hipError_t If(void* memory, size_t& bytes, I in, O out, C selected, N count, P predicate,
                       hipStream_t stream = nullptr) {
    return Flagged(memory, bytes, in, thrust::make_transform_iterator(in, predicate), out, selected, count,
                   stream);
  }
  template <class I, class O, class C, class N>
  static hipError_t Unique(void* memory, size_t& bytes, I in, O out, C selected, N count,
                           hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      const O end = thrust::bitgate::Algorithms::unique_copy(in, in + count, out);
      *selected = static_cast<std::decay_t<decltype(*selected)>>(end - out);
    });
  }
};

struct DeviceRunLengthEncode {
  template <class I, class U, class L, class C, class N>
  static hipError_t Encode(void* memory, size_t& bytes, I in, U unique, L lengths, C runs, N count,
                           hipStream_t stream = nullptr) {
    return DeviceReduce::ReduceByKey(memory, bytes, in, unique, thrust::make_constant_iterator(1), lengths,
                                     runs, Sum(), count, stream);
  }
};

struct DeviceHistogram {
  template <class I, class C, class L, class N>
  static hipError_t HistogramEven(void* memory, size_t& bytes, I in, C* histogram, int levels, L lower,
                                  L upper, N count, hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      std::fill_n(histogram, levels - 1, C(0));
      for (N at = 0; at < count; ++at)
        if (const auto value = static_cast<double>(in[at]); value >= lower && value < upper)
          ++histogram[static_cast<int>((value - static_cast<double>(lower)) * (levels - 1) /
                                       (static_cast<double>(upper) - static_cast<double>(lower)))];
    });
  }
};

struct DeviceSegmentedReduce {
  template <class I, class O, class B, class E, class F, class T>
  static hipError_t Reduce(void* memory, size_t& bytes, I in, O out, int segments, B begins, E ends, F op,
                           T init, hipStream_t stream = nullptr) {
    return bitgate::done(memory, bytes, stream, [&] {
      for (int segment = 0; segment < segments; ++segment) {
        auto sum = init;
        for (auto at = begins[segment]; at < ends[segment]; ++at)
          sum = op(sum, in[at]);
        out[segment] = sum;
      }
    });
  }
  template <class I, class O, class B, class E>
  static hipError_t Sum(void* memory, size_t& bytes, I in, O out, int segments, B begins, E ends,
                        hipStream_t stream = nullptr) {
    using T = typename std::iterator_traits<I>::value_type;
    return Reduce(memory, bytes, in, out, segments, begins, ends, hipcub::Sum(), T(0), stream);
  }
};

} // namespace hipcub

// Bits of two tensors of one shape and type, each with its own strides.
#include "tensor.hpp"

#include <cstring>
#include <mutex>

using namespace bitgate::native;

namespace {

template <class Bits>
void count(const Tensor& a, const Tensor& b, int64_t* differences, int64_t* first_index, int threads) {
  const Walk walk(a, &b);
  const Axis row = walk.row();
  const auto* left = reinterpret_cast<const Bits*>(a.data);
  const auto* right = reinterpret_cast<const Bits*>(b.data);
  int64_t total = 0;
  int64_t first = -1;
  std::mutex guard;
  walk.each(threads, [&](int, int64_t offset, int64_t other, int64_t logical, int64_t length) {
    const Bits* p = left + offset;
    const Bits* q = right + other;
    if (row.stride == 1 && row.other == 1 &&
        std::memcmp(p, q, static_cast<size_t>(length) * sizeof(Bits)) == 0)
      return;
    int64_t wrong = 0;
    int64_t least = -1;
    for (int64_t i = 0; i < length; ++i)
      if (p[i * row.stride] != q[i * row.other] && wrong++ == 0)
        least = logical + i * row.logical;
    if (wrong == 0)
      return;
    const std::lock_guard lock(guard);
    total += wrong;
    if (first < 0 || least < first)
      first = least;
  });
  *differences = total;
  *first_index = first;
}

} // namespace

// How many elements differ in any bit, and the least flat logical index among them (-1 if none).
BITGATE_NATIVE void bitgate_differences(const Tensor* a, const Tensor* b, int64_t* differences,
                                        int64_t* first, int32_t threads) {
  switch (a->element_bytes) {
  case 1:
    return count<uint8_t>(*a, *b, differences, first, threads);
  case 2:
    return count<uint16_t>(*a, *b, differences, first, threads);
  case 4:
    return count<uint32_t>(*a, *b, differences, first, threads);
  default:
    return count<uint64_t>(*a, *b, differences, first, threads);
  }
}

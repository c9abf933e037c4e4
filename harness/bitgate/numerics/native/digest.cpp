// The digest's two sums over a strided tensor, in memory order (they commute).
#include "bitgate/counter.hpp"
#include "tensor.hpp"

#include <vector>

using namespace bitgate::native;
namespace counter = bitgate::counter;

namespace {

void add(counter::Sums& sums, counter::Sums term) {
  sums.first += term.first;
  sums.second += term.second;
}

// Adds cells of one row whose positions start at `position` and are `step` words apart, all within one page.
template <class Bits>
counter::Sums row_sums(const Bits* row, int64_t stride, int64_t length, uint64_t position, uint32_t step) {
  const uint32_t key = counter::page_key(position);
  const uint32_t low = static_cast<uint32_t>(position);
  counter::Sums sums{};
  const auto run = [&](int64_t pitch) {
    for (int64_t i = 0; i < length; ++i) {
      const uint32_t at = low + static_cast<uint32_t>(i) * step;
      if constexpr (sizeof(Bits) == 8) {
        const uint64_t bits = row[i * pitch];
        add(sums, counter::term(static_cast<uint32_t>(bits), at, key));
        add(sums, counter::term(static_cast<uint32_t>(bits >> 32), at + 1, key));
      } else {
        add(sums, counter::term(row[i * pitch], at, key));
      }
    }
  };
  if (stride == 1)
    run(1); // the compiler vectorises only a constant pitch
  else
    run(stride);
  return sums;
}

template <class Bits> counter::Sums tensor_sums(const Tensor& tensor, uint64_t first, int threads) {
  constexpr uint64_t words = sizeof(Bits) == 8 ? 2 : 1;
  const Walk walk(tensor);
  const int64_t stride = walk.row().stride;
  const uint64_t step = static_cast<uint64_t>(walk.row().logical) * words;
  const auto* cells = reinterpret_cast<const Bits*>(tensor.data);
  std::vector<counter::Sums> totals(static_cast<size_t>(walk.workers(threads)));
  walk.each(threads, [&](int worker, int64_t offset, int64_t, int64_t logical, int64_t length) {
    counter::Sums sums{};
    const uint64_t position = (first + static_cast<uint64_t>(logical)) * words;
    const uint64_t last = position + static_cast<uint64_t>(length - 1) * step + words - 1;
    if (position >> 32 == last >> 32) {
      sums = row_sums(cells + offset, stride, length, position, static_cast<uint32_t>(step));
    } else { // a row that leaves its page: cell by cell
      for (int64_t i = 0; i < length; ++i)
        add(sums,
            row_sums(cells + offset + i * stride, stride, 1, position + static_cast<uint64_t>(i) * step, 0));
    }
    add(totals[static_cast<size_t>(worker)], sums);
  });
  counter::Sums total{};
  for (const auto& part : totals)
    add(total, part);
  return total;
}

} // namespace

// Sums of a whole tensor whose first element has logical index `first` of the tensor it is a block of.
BITGATE_NATIVE void bitgate_digest_sums(const Tensor* tensor, uint64_t first, uint64_t* sums,
                                        int32_t threads) {
  counter::Sums total{};
  switch (tensor->element_bytes) {
  case 1:
    total = tensor_sums<uint8_t>(*tensor, first, threads);
    break;
  case 2:
    total = tensor_sums<uint16_t>(*tensor, first, threads);
    break;
  case 4:
    total = tensor_sums<uint32_t>(*tensor, first, threads);
    break;
  default:
    total = tensor_sums<uint64_t>(*tensor, first, threads);
  }
  sums[0] = total.first;
  sums[1] = total.second;
}

// Counter-based fills: each cell is a function of its logical index, so rows may be written in memory order.
#include "bitgate/counter.hpp"
#include "convert.hpp"
#include "tensor.hpp"

using namespace bitgate::native;
namespace counter = bitgate::counter;

namespace {

template <class Element, class Value>
void fill(const Tensor& tensor, uint64_t stream, int threads, Value value) {
  const Walk walk(tensor, nullptr, Broadcast::visit_each_cell_once);
  const int64_t stride = walk.row().stride;
  const uint64_t step = static_cast<uint64_t>(walk.row().logical) * counter::golden;
  auto* cells = reinterpret_cast<Element*>(tensor.data);
  walk.each(threads, [&](int, int64_t offset, int64_t, int64_t logical, int64_t length) {
    Element* row = cells + offset;
    const uint64_t first = stream + static_cast<uint64_t>(logical + 1) * counter::golden;
    if (stride == 1) // the compiler vectorises only a constant pitch
      for (int64_t i = 0; i < length; ++i)
        row[i] = value(counter::mix64(first + static_cast<uint64_t>(i) * step));
    else
      for (int64_t i = 0; i < length; ++i)
        row[i * stride] = value(counter::mix64(first + static_cast<uint64_t>(i) * step));
  });
}

} // namespace

// Writes integers of [-range, range] without 0. table: the bit patterns of -range .. range for elements of 1
// or 2 bytes (Python rounds them, so any dtype works); wider types convert here, exactly.
BITGATE_NATIVE void bitgate_fill_integers(const Tensor* tensor, uint64_t stream, uint32_t range,
                                          uint64_t keep, const void* table, int32_t threads) {
  const auto integer = [=](uint64_t word) { return counter::integer(word, range, keep); };
  const auto pattern = [&]<class Bits>(Bits) {
    const Bits* zero = static_cast<const Bits*>(table) + range;
    fill<Bits>(*tensor, stream, threads, [=](uint64_t word) { return zero[integer(word)]; });
  };
  if (tensor->element_bytes == 1)
    pattern(uint8_t{});
  else if (tensor->element_bytes == 2)
    pattern(uint16_t{});
  else if (tensor->dtype == BITGATE_F64)
    fill<double>(*tensor, stream, threads, [=](uint64_t word) { return static_cast<double>(integer(word)); });
  else if (tensor->dtype == BITGATE_F32)
    fill<float>(*tensor, stream, threads, [=](uint64_t word) { return static_cast<float>(integer(word)); });
  else
    fill<int32_t>(*tensor, stream, threads,
                  [=](uint64_t word) { return static_cast<int32_t>(integer(word)); });
}

// Writes reals of [-1, 1), rounded to nearest even. Returns 0 for a dtype that Python has to round.
BITGATE_NATIVE int32_t bitgate_fill_reals(const Tensor* tensor, uint64_t stream, int32_t threads) {
  const auto narrow = [&]<class Element>(Element) {
    fill<Element>(*tensor, stream, threads,
                  [](uint64_t word) { return Store<Element>::round(counter::real32(word)); });
  };
  switch (tensor->dtype) {
  case BITGATE_F64:
    fill<double>(*tensor, stream, threads, [](uint64_t word) { return counter::real64(word); });
    return 1;
  case BITGATE_F32:
    return narrow(float{}), 1;
  case BITGATE_F16:
    return narrow(Half{}), 1;
  case BITGATE_BF16:
    return narrow(Bfloat{}), 1;
  default:
    return 0;
  }
}

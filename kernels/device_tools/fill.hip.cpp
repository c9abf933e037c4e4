// Fills on the device: the integers and reals of bitgate/counter.hpp at each cell's logical index, the same
// bits as on the host, and constant patterns. Gaps are not touched: a memset makes them before.
#include "answers.hpp"
#include "bitgate/counter.hpp"

namespace device_tools {

namespace counter = bitgate::counter;

// What one integer becomes in memory. Elements of one or two bytes are looked up: `patterns` holds those of
// -range .. range, rounded by the caller, so that any dtype works.
template <class Bits> BITGATE_HD inline Bits pattern_of(int32_t value, int32_t dtype, const Bits* zero) {
  if constexpr (sizeof(Bits) <= 2)
    return zero[value];
  else if constexpr (sizeof(Bits) == 4)
    return dtype == BITGATE_F32 ? bitgate::bits_as<Bits>(static_cast<float>(value))
                                : static_cast<Bits>(value);
  else
    return bitgate::bits_as<Bits>(static_cast<double>(value));
}

template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_fill_integers(Bits* data, const Bits* patterns, Cells cells, uint64_t stream, uint32_t range,
                         uint64_t keep) {
  const Bits* zero = patterns + range;
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    const uint64_t word = counter::word(stream, static_cast<uint64_t>(at.logical));
    data[at.offset] = pattern_of(counter::integer(word, range, keep), cells.dtype, zero);
  });
}

// A real number of [-1, 1), rounded to nearest even.
template <class Bits> BITGATE_HD inline Bits real_of(uint64_t word, int32_t dtype) {
  if constexpr (sizeof(Bits) == 8)
    return bitgate::bits_as<Bits>(counter::real64(word));
  else if constexpr (sizeof(Bits) == 4)
    return bitgate::bits_as<Bits>(counter::real32(word));
  else
    return dtype == BITGATE_F16 ? bitgate::narrow<bitgate::f16>(counter::real32(word)).bits
                                : bitgate::narrow<bitgate::bf16>(counter::real32(word)).bits;
}

template <class Bits>
__global__ void __launch_bounds__(block_size) kernel_fill_reals(Bits* data, Cells cells, uint64_t stream) {
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    data[at.offset] = real_of<Bits>(counter::word(stream, static_cast<uint64_t>(at.logical)), cells.dtype);
  });
}

template <class Bits>
__global__ void __launch_bounds__(block_size) kernel_fill_bits(Bits* data, Cells cells, Bits bits) {
  each(cells.count, [&](int64_t index) { data[place_of(cells, index).offset] = bits; });
}

} // namespace device_tools

using namespace device_tools;

extern "C" {

// patterns: device memory, 2 * range + 1 elements; not read for elements of 4 or 8 bytes.
BITGATE_EXPORT int32_t bitgate_tools_fill_integers(void* data, const Cells* cells, uint64_t stream_start,
                                                   uint32_t range, uint64_t keep, const void* patterns,
                                                   void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "fill_integers", kernel_fill_integers<Bits>, cells->count, static_cast<Bits*>(data),
                 static_cast<const Bits*>(patterns), *cells, stream_start, range, keep);
  });
}

// f64, f32, f16 and bf16; hipErrorInvalidValue for other types.
BITGATE_EXPORT int32_t bitgate_tools_fill_reals(void* data, const Cells* cells, uint64_t stream_start,
                                                void* stream) noexcept {
  if (cells->dtype > BITGATE_BF16)
    return static_cast<int32_t>(hipErrorInvalidValue);
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    if constexpr (sizeof(Bits) == 1)
      return static_cast<int32_t>(hipErrorInvalidValue);
    else
      return start(stream, "fill_reals", kernel_fill_reals<Bits>, cells->count, static_cast<Bits*>(data),
                   *cells, stream_start);
  });
}

// Every cell gets the low bytes of `bits`.
BITGATE_EXPORT int32_t bitgate_tools_fill_bits(void* data, const Cells* cells, uint64_t bits,
                                               void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "fill_bits", kernel_fill_bits<Bits>, cells->count, static_cast<Bits*>(data), *cells,
                 static_cast<Bits>(bits));
  });
}

} // extern "C"

// Fills on the device: the integers and reals of bitgate/counter.hpp at each cell's logical index, the same
// bits as on the host, and constant patterns. Gaps are not touched: a memset makes them before.
#include "bitgate/counter.hpp"
#include "zones.hpp"

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
__device__ __forceinline__ void fill_integers(Bits* data, const Bits* patterns, const Cells& cells,
                                              uint64_t stream, uint32_t range, uint64_t keep) {
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
__device__ __forceinline__ void fill_reals(Bits* data, const Cells& cells, uint64_t stream) {
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    data[at.offset] = real_of<Bits>(counter::word(stream, static_cast<uint64_t>(at.logical)), cells.dtype);
  });
}

template <class Bits> __device__ __forceinline__ void fill_bits(Bits* data, const Cells& cells, Bits bits) {
  each(cells.count, [&](int64_t index) { data[place_of(cells, index).offset] = bits; });
}

template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_fill_integers(Bits* data, const Bits* patterns, Cells cells, uint64_t stream, uint32_t range,
                         uint64_t keep) {
  fill_integers(data, patterns, cells, stream, range, keep);
}

template <class Bits>
__global__ void __launch_bounds__(block_size) kernel_fill_reals(Bits* data, Cells cells, uint64_t stream) {
  fill_reals(data, cells, stream);
}

template <class Bits>
__global__ void __launch_bounds__(block_size) kernel_fill_bits(Bits* data, Cells cells, Bits bits) {
  fill_bits(data, cells, bits);
}

// One of several fills that are one launch. Mirrored by FILL in tools_abi.py.
enum FillKind : int32_t { integers = 0, reals = 1, constant = 2 };

struct Fill {
  void* data;
  Cells cells;
  const void* patterns;  // of integers, as above
  uint64_t stream, keep; // of a constant the stream is its bits
  uint32_t range;
  int32_t kind; // enum FillKind
};

inline constexpr int max_fills = 8;

struct Fills {
  Fill fill[max_fills];
  int32_t count, reserved;
};

template <class Bits> __device__ void fill_one(const Fill& one) {
  auto* const data = static_cast<Bits*>(one.data);
  if (one.kind == integers)
    fill_integers(data, static_cast<const Bits*>(one.patterns), one.cells, one.stream, one.range, one.keep);
  else if (one.kind == constant)
    fill_bits(data, one.cells, static_cast<Bits>(one.stream));
  else if constexpr (sizeof(Bits) > 1)
    fill_reals(data, one.cells, one.stream);
}

// A row of blocks for each fill, then one for each guard zone, every byte of which becomes `canary`.
__global__ void __launch_bounds__(block_size) kernel_fills(Fills fills, Zones zones, uint32_t canary) {
  const int row = static_cast<int>(blockIdx.y);
  if (row >= fills.count) {
    guard(zones.zone[row - fills.count], canary);
    return;
  }
  const Fill& one = fills.fill[row];
  switch (one.cells.element_bytes) {
  case 1:
    return fill_one<uint8_t>(one);
  case 2:
    return fill_one<uint16_t>(one);
  case 4:
    return fill_one<uint32_t>(one);
  default:
    return fill_one<uint64_t>(one);
  }
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

// Small tensors, and guards, in one launch. What can be filled is as above; the caller sees to that.
BITGATE_EXPORT int32_t bitgate_tools_fills(const Fill* fills, int32_t count, const Zone* zones,
                                           int32_t zone_count, uint32_t canary, void* stream) noexcept {
  if (count < 0 || count > max_fills || zone_count < 0 || zone_count > max_zones || count + zone_count < 1)
    return static_cast<int32_t>(hipErrorInvalidValue);
  Fills all{};
  int64_t most = 1;
  for (; all.count < count; ++all.count) {
    all.fill[all.count] = fills[all.count];
    most = fills[all.count].cells.count > most ? fills[all.count].cells.count : most;
  }
  return start_rows(stream, "fills", kernel_fills, most, count + zone_count, all, zones_of(zones, zone_count),
                    canary);
}

} // extern "C"

// Sums over a tensor: the digest of bitgate/counter.hpp, and the weighted sum of the checksum identity.
// Addition modulo 2^64 commutes, so blocks add their shares in any order.
#include "bitgate/counter.hpp"
#include "zones.hpp"

namespace device_tools {

namespace counter = bitgate::counter;

// answers: the two sums of the cells, whose first one is number `first` of the tensor that they are a block
// of.
template <class Bits>
__device__ __forceinline__ void digest(const Bits* data, const Cells& cells, uint64_t first, Word* answers) {
  constexpr uint64_t words = sizeof(Bits) == 8 ? 2 : 1;
  counter::Sums sums{0, 0};
  const auto add = [&](uint32_t bits, uint64_t position) {
    const counter::Sums term =
        counter::term(bits, static_cast<uint32_t>(position), counter::page_key(position));
    sums.first += term.first;
    sums.second += term.second;
  };
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    const uint64_t position = (first + static_cast<uint64_t>(at.logical)) * words;
    const Bits bits = data[at.offset];
    add(static_cast<uint32_t>(bits), position);
    if constexpr (words == 2)
      add(static_cast<uint32_t>(bits >> 32), position + 1);
  });
  add_answer(answers, sums.first);
  add_answer(answers + 1, sums.second);
}

template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_digest(const Bits* data, Cells cells, uint64_t first, Word* answers) {
  digest(data, cells, first, answers);
}

// One of several digests that are one launch. Mirrored by DIGEST in tools_abi.py.
struct Digest {
  const void* data;
  Cells cells;
  uint64_t first;
  Word* answers;
};

inline constexpr int max_digests = 12;

struct Digests {
  Digest digest[max_digests];
  int32_t count, reserved;
};

// A row of blocks for each digest, then one for each guard zone, whose damaged bytes are counted together.
__global__ void __launch_bounds__(block_size)
    kernel_digests(Digests digests, Zones zones, uint32_t canary, Word* damage) {
  const int row = static_cast<int>(blockIdx.y);
  if (row >= digests.count) {
    const Zone& zone = zones.zone[row - digests.count];
    if (!is_idle(static_cast<int64_t>(zone.bytes)))
      count_damage(zone, canary, damage);
    return;
  }
  const Digest& one = digests.digest[row];
  if (is_idle(one.cells.count))
    return;
  switch (one.cells.element_bytes) {
  case 1:
    return digest(static_cast<const uint8_t*>(one.data), one.cells, one.first, one.answers);
  case 2:
    return digest(static_cast<const uint16_t*>(one.data), one.cells, one.first, one.answers);
  case 4:
    return digest(static_cast<const uint32_t*>(one.data), one.cells, one.first, one.answers);
  default:
    return digest(static_cast<const uint64_t*>(one.data), one.cells, one.first, one.answers);
  }
}

// The weight of a cell is a product: one factor for its group and channel (axes 0 and 2 of the logical
// order), one for everything else. Mirrored by Weights in tools_abi.py.
struct Weights {
  int64_t rows, channels, spatial; // lengths of axes 1, 2, and of the rest together
  uint64_t channel_stream, place_stream;
  uint32_t range;
  uint32_t reserved;
};

BITGATE_HD inline uint64_t weight_of(const Weights& weights, int64_t logical) {
  const Split cell = split(logical, weights.spatial);
  const Split channel = split(cell.quotient, weights.channels);
  const int64_t group = split(channel.quotient, weights.rows).quotient;
  const auto factor = [&](uint64_t stream, int64_t index) {
    constexpr uint64_t full_density = uint64_t{1} << 32;
    const uint64_t word = counter::word(stream, static_cast<uint64_t>(index));
    return static_cast<int64_t>(counter::integer(word, weights.range, full_density));
  };
  return static_cast<uint64_t>(
      factor(weights.channel_stream, group * weights.channels + channel.remainder) *
      factor(weights.place_stream, channel.quotient * weights.spatial + cell.remainder));
}

// answers: the sum of weight * cell modulo 2^64, and how many cells are no integer below 2^62.
template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_weighted_sum(const Bits* data, const float* bytes, Cells cells, Weights weights, Word* answers) {
  constexpr double limit = 0x1p62;
  Word sum = 0, fractions = 0;
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    const double number = number_of(data[at.offset], cells.dtype, bytes);
    const bool in_range = number > -limit && number < limit; // false for NaN
    const int64_t whole = in_range ? static_cast<int64_t>(number) : 0;
    if (!in_range || static_cast<double>(whole) != number)
      ++fractions;
    else
      sum += weight_of(weights, at.logical) * static_cast<uint64_t>(whole);
  });
  add_answer(answers, sum);
  add_answer(answers + 1, fractions);
}

} // namespace device_tools

using namespace device_tools;

extern "C" {

BITGATE_EXPORT int32_t bitgate_tools_digest(const void* data, const Cells* cells, uint64_t first,
                                            Word* answers, void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "digest", kernel_digest<Bits>, cells->count, static_cast<const Bits*>(data), *cells,
                 first, answers);
  });
}

// Of small tensors, and the damage of guards, in one launch.
BITGATE_EXPORT int32_t bitgate_tools_digests(const Digest* digests, int32_t count, const Zone* zones,
                                             int32_t zone_count, uint32_t canary, Word* damage,
                                             void* stream) noexcept {
  if (count < 0 || count > max_digests || zone_count < 0 || zone_count > max_zones || count + zone_count < 1)
    return static_cast<int32_t>(hipErrorInvalidValue);
  Digests all{};
  int64_t most = 1;
  for (; all.count < count; ++all.count) {
    all.digest[all.count] = digests[all.count];
    most = digests[all.count].cells.count > most ? digests[all.count].cells.count : most;
  }
  return start_rows(stream, "digests", kernel_digests, most, count + zone_count, all,
                    zones_of(zones, zone_count), canary, damage);
}

BITGATE_EXPORT int32_t bitgate_tools_weighted_sum(const void* data, const float* bytes, const Cells* cells,
                                                  const Weights* weights, Word* answers,
                                                  void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "weighted_sum", kernel_weighted_sum<Bits>, cells->count,
                 static_cast<const Bits*>(data), bytes, *cells, *weights, answers);
  });
}

} // extern "C"

/* Counter-based integers and digests: pure functions of (seed, tensor, logical index), the same on any host
 * and device.
 *
 * Plain C++ without headers of HIP, so that the native library, host kernels and device kernels share one
 * text. The definition is harness/bitgate/numerics/counter.py (numpy); tests hold this file to it bit for
 * bit. All arithmetic is modulo 2^64 or 2^32. docs/exactness.md states the algorithm in words.
 */
#ifndef BITGATE_COUNTER_HPP
#define BITGATE_COUNTER_HPP

#include <stdint.h>

#if defined(__HIPCC__) || defined(__CUDACC__)
#define BITGATE_HOST_DEVICE __host__ __device__
#else
#define BITGATE_HOST_DEVICE
#endif

namespace bitgate::counter {

inline constexpr uint64_t golden = 0x9e3779b97f4a7c15u;

/* A bijection of 64-bit words in which every input bit reaches every output bit (the finaliser of
 * splitmix64). */
BITGATE_HOST_DEVICE inline uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* The same for 32-bit words: cheap where 64-bit products are not (GPUs, AVX2). */
BITGATE_HOST_DEVICE inline uint32_t mix32(uint32_t z) {
  z = (z ^ (z >> 16)) * 0x7feb352du;
  z = (z ^ (z >> 15)) * 0x846ca68bu;
  return z ^ (z >> 16);
}

/* --- fills
 * ------------------------------------------------------------------------------------------------------ */

/* salt: the tensor's name as a little-endian integer of its ASCII bytes ("in" = 0x6e69). */
BITGATE_HOST_DEVICE inline uint64_t stream(uint64_t seed, uint64_t salt) {
  return mix64(mix64(seed + golden) ^ salt);
}

BITGATE_HOST_DEVICE inline uint64_t word(uint64_t stream, uint64_t index) {
  return mix64(stream + (index + 1) * golden);
}

/* One of the 2 * range integers in [-range, range] without 0, uniform by multiply-shift of the high field; 0
 * where the low field is not below keep. keep = 2^32 is full density. range is 1 .. 2^30. */
BITGATE_HOST_DEVICE inline int32_t integer(uint64_t word, uint32_t range, uint64_t keep) {
  const uint64_t scaled = (word >> 32) * (2 * static_cast<uint64_t>(range));
  const int32_t shifted = static_cast<int32_t>(scaled >> 32) - static_cast<int32_t>(range);
  const int32_t value = shifted + (shifted >= 0);
  return value * static_cast<int32_t>((word & 0xffffffffu) < keep); // no branch, so that loops vectorise
}

/* Uniform in [-1, 1) in steps of 2^-23, exact in f32; narrower types round it to nearest even. */
BITGATE_HOST_DEVICE inline float real32(uint64_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 40) - (1 << 23)) * 0x1p-23f;
}

/* Uniform in [-1, 1) in steps of 2^-52, exact in f64. */
BITGATE_HOST_DEVICE inline double real64(uint64_t word) {
  return static_cast<double>(static_cast<int64_t>(word >> 11) - (int64_t{1} << 52)) * 0x1p-52;
}

/* --- digest
 * ----------------------------------------------------------------------------------------------------- */

/* Two sums over the 32-bit words of a tensor in logical order. Addition commutes: blocks may be summed in any
 * order, by atomics too. An element of up to 32 bits is one word (zero-extended), one of 64 bits two (low
 * half first); word w of element i stands at position i * words_per_element + w. */
struct Sums {
  uint64_t first;
  uint64_t second;
};

/* Constant over 2^32 consecutive positions. */
BITGATE_HOST_DEVICE inline uint32_t page_key(uint64_t position) {
  return mix32(static_cast<uint32_t>(position >> 32) ^ 0x5bd1e995u);
}

/* What the word at a position adds. A factor is odd and below 2^32, so a product determines its word: no
 * change of a single element can leave either sum as it was. Positions of one page have distinct `place`, so
 * swaps show. */
BITGATE_HOST_DEVICE inline Sums term(uint32_t bits, uint32_t position_low, uint32_t page_key) {
  const uint32_t place = mix32(position_low ^ page_key);
  const uint32_t other = (place * 0x9e3779b1u) ^ (place >> 15);
  const uint64_t value = bits ^ 0x85ebca6bu;
  return {value * (place | 1u), value * (other | 1u)};
}

/* Dtype (its code in abi.h), rank and lengths enter before the sums: equal bytes of another shape have
 * another digest. The digest's text is "bg1:" and the two results as 16 hexadecimal digits each. */
BITGATE_HOST_DEVICE inline Sums finish(Sums sums, int32_t dtype, int32_t rank, const int64_t* lengths) {
  uint64_t shape = mix64(golden ^ static_cast<uint64_t>(dtype));
  shape = mix64(shape ^ static_cast<uint64_t>(rank));
  for (int32_t axis = 0; axis < rank; ++axis)
    shape = mix64(shape ^ static_cast<uint64_t>(lengths[axis]));
  return {mix64(sums.first ^ shape), mix64(sums.second + shape * golden)};
}

} // namespace bitgate::counter
#endif

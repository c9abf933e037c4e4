// What the lanes of a wave exchange.
#pragma once

__device__ __forceinline__ unsigned __lane_id() {
#if defined(__AMDGCN_WAVEFRONT_SIZE__) && __AMDGCN_WAVEFRONT_SIZE__ == 32
  return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#else
  // In a wave of 32 lanes the second half of the mask adds nothing.
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#endif
}

#define warpSize (static_cast<int>(__builtin_amdgcn_wavefrontsize()))

namespace bitgate_amd {

// The value that `lane` holds, word by word.
template <class T> __device__ __forceinline__ T read_lane(T value, int lane) {
  static_assert(sizeof(T) % 4 == 0, "lanes exchange whole 32-bit words");
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words)
    word = __builtin_amdgcn_ds_bpermute(lane << 2, word);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

} // namespace bitgate_amd

// As HIP: lanes form groups of `width`; a lane outside of the own group reads as one's own.
template <class T> __device__ __forceinline__ T __shfl(T value, int lane, int width = warpSize) {
  const int self = __lane_id();
  return bitgate_amd::read_lane(value, (lane & (width - 1)) + (self & ~(width - 1)));
}
template <class T> __device__ __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = __lane_id(), other = self ^ mask;
  return bitgate_amd::read_lane(value, other >= ((self + width) & ~(width - 1)) ? self : other);
}
template <class T> __device__ __forceinline__ T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), other = self - static_cast<int>(delta);
  return bitgate_amd::read_lane(value, other < (self & ~(width - 1)) ? self : other);
}
template <class T> __device__ __forceinline__ T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), other = self + static_cast<int>(delta);
  return bitgate_amd::read_lane(value,
                                (self & (width - 1)) + static_cast<int>(delta) >= width ? self : other);
}

__device__ __forceinline__ unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
__device__ __forceinline__ int __any(int predicate) {
  return __ballot(predicate) != 0;
}
__device__ __forceinline__ int __all(int predicate) {
  return __ballot(predicate == 0) == 0;
}

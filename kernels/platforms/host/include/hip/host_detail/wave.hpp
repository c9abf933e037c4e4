// Operations across the lanes of a wave. Each is a meeting of the wave's lanes in the runtime; the source
// line tells two of them apart, so lanes that wait at different lines are reported as divergent instead of
// being mixed up.
#pragma once

#include <cstring>
#include <type_traits>

#include "hip/host_detail/thread_indices.hpp"

namespace bitgate_host {

inline unsigned lane_id() {
  return self->lane;
}

// Counts one operation that lane 0 performs for its whole wave, without a meeting. `kind` tells operations
// apart; lanes that disagree at the next barrier or at the kernel's end are a fault (divergent wave
// operation).
inline void wave_op(unsigned kind) {
  ThreadRecord* const record = self;
  waveOpsCounted = true;
  ++record->waveOps;
  record->waveOpHash = (record->waveOpHash ^ kind) * 0x9E3779B1u;
}

enum class WaveOp : unsigned { Shuffle = 1, Vote = 2, Sync = 3 };

constexpr unsigned wave_site(WaveOp op, unsigned line) {
  return static_cast<unsigned>(op) << 24 | line;
}

template <class T> T shuffle_from(T value, int source, unsigned line) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "a shuffled value has at most 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const WaveSlots* slots = __bitgate_wave_exchange(wave_site(WaveOp::Shuffle, line), bits);
  std::memcpy(&value, &slots->value[source & 63], sizeof(T));
  return value;
}

} // namespace bitgate_host

template <class T> T __shfl(T var, int srcLane, int width = warpSize, unsigned line = __builtin_LINE()) {
  const int self = bitgate_host::lane_id();
  return bitgate_host::shuffle_from(var, (srcLane & (width - 1)) + (self & ~(width - 1)), line);
}
template <class T>
T __shfl_up(T var, unsigned delta, int width = warpSize, unsigned line = __builtin_LINE()) {
  const int self = bitgate_host::lane_id();
  const int source = self - static_cast<int>(delta);
  return bitgate_host::shuffle_from(var, source < (self & ~(width - 1)) ? self : source, line);
}
template <class T>
T __shfl_down(T var, unsigned delta, int width = warpSize, unsigned line = __builtin_LINE()) {
  const int self = bitgate_host::lane_id();
  const int source = self + static_cast<int>(delta);
  const bool beyond = (self & (width - 1)) + static_cast<int>(delta) >= width;
  return bitgate_host::shuffle_from(var, beyond ? self : source, line);
}
template <class T> T __shfl_xor(T var, int laneMask, int width = warpSize, unsigned line = __builtin_LINE()) {
  const int self = bitgate_host::lane_id();
  const int source = self ^ laneMask;
  return bitgate_host::shuffle_from(var, source >= ((self + width) & ~(width - 1)) ? self : source, line);
}

// ROCm 7's and CUDA's spelling: the mask names the lanes that take part.
template <class M, class T>
T __shfl_sync(M, T var, int srcLane, int width = warpSize, unsigned line = __builtin_LINE()) {
  return __shfl(var, srcLane, width, line);
}
template <class M, class T>
T __shfl_up_sync(M, T var, unsigned delta, int width = warpSize, unsigned line = __builtin_LINE()) {
  return __shfl_up(var, delta, width, line);
}
template <class M, class T>
T __shfl_down_sync(M, T var, unsigned delta, int width = warpSize, unsigned line = __builtin_LINE()) {
  return __shfl_down(var, delta, width, line);
}
template <class M, class T>
T __shfl_xor_sync(M, T var, int laneMask, int width = warpSize, unsigned line = __builtin_LINE()) {
  return __shfl_xor(var, laneMask, width, line);
}

inline unsigned long long __ballot(int predicate, unsigned line = __builtin_LINE()) {
  using namespace bitgate_host;
  const WaveSlots* slots = __bitgate_wave_exchange(wave_site(WaveOp::Vote, line), predicate != 0);
  unsigned long long votes = 0;
  for (int lane = 0; lane < 64; ++lane)
    votes |= (slots->value[lane] & 1ull) << lane;
  return votes & slots->active;
}
inline int __any(int predicate, unsigned line = __builtin_LINE()) {
  return __ballot(predicate, line) != 0;
}
inline int __all(int predicate, unsigned line = __builtin_LINE()) {
  return __ballot(!predicate, line) == 0;
}
inline unsigned long long __activemask(unsigned line = __builtin_LINE()) {
  return __ballot(1, line);
}
template <class M> unsigned long long __ballot_sync(M, int predicate, unsigned line = __builtin_LINE()) {
  return __ballot(predicate, line);
}
template <class M> int __any_sync(M, int predicate, unsigned line = __builtin_LINE()) {
  return __any(predicate, line);
}
template <class M> int __all_sync(M, int predicate, unsigned line = __builtin_LINE()) {
  return __all(predicate, line);
}

inline void __syncwarp(unsigned long long = ~0ull, unsigned line = __builtin_LINE()) {
  __asm__ volatile("" ::: "memory");
  __bitgate_wave_exchange(bitgate_host::wave_site(bitgate_host::WaveOp::Sync, line), 0);
  __asm__ volatile("" ::: "memory");
}
inline unsigned __lane_id() {
  return bitgate_host::lane_id();
}

// The groups of cooperative_groups: what they are, and how their threads meet.
#pragma once

#include <cstring>

#include "hip/host_detail/grid.hpp"
#include "hip/host_detail/lds.hpp"
#include "hip/host_detail/thread_indices.hpp"
#include "hip/host_detail/wave.hpp"

namespace cooperative_groups {

namespace detail {

inline unsigned block_size() {
  return blockDim.x * blockDim.y * blockDim.z;
}
inline unsigned rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

// The values of all lanes of the wave that are here; each has at most 8 bytes at a meeting.
template <class T> struct Values {
  alignas(T) unsigned char bytes[64][sizeof(T)];
  uint64_t active;

  T operator[](unsigned lane) const {
    T value;
    std::memcpy(&value, bytes[lane], sizeof value);
    return value;
  }
};
template <class T> Values<T> gathered(const T& value, unsigned line) {
  static_assert(std::is_trivially_copyable_v<T>, "lanes exchange what can be copied bytewise");
  Values<T> values;
  for (size_t at = 0; at < sizeof(T); at += 8) {
    const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
    uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + at, bytes);
    using namespace bitgate_host;
    const WaveSlots* const slots = __bitgate_wave_exchange(wave_site(WaveOp::Shuffle, line), bits);
    values.active = slots->active;
    for (int lane = 0; lane < 64; ++lane)
      std::memcpy(values.bytes[lane] + at, &slots->value[lane], bytes);
  }
  return values;
}

} // namespace detail

// Any group; its kind and, of lanes, which.
class thread_group {
public:
  enum class Kind { Block, Lanes, Grid };

  unsigned long long size() const {
    switch (kind) {
    case Kind::Block:
      return detail::block_size();
    case Kind::Lanes:
      return static_cast<unsigned>(std::popcount(lanes));
    default:
      return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z * detail::block_size();
    }
  }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    switch (kind) {
    case Kind::Block:
      return detail::rank_in_block();
    case Kind::Lanes:
      return rank_of(bitgate_host::lane_id());
    default: {
      const unsigned long long block =
          (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      return block * detail::block_size() + detail::rank_in_block();
    }
    }
  }
  bool is_valid() const { return true; }
  void sync(unsigned line = __builtin_LINE()) const {
    if (kind == Kind::Lanes)
      return __syncwarp(lanes, line);
    __syncthreads();
    if (kind == Kind::Block)
      return;
    if (detail::rank_in_block() == 0)
      __bitgate_grid_sync();
    __syncthreads();
  }

  // Of a group of lanes: its members as bits, and a member's rank.
  uint64_t members() const { return lanes; }
  unsigned rank_of(unsigned lane) const {
    return static_cast<unsigned>(std::popcount(lanes & ((1ull << lane) - 1)));
  }
  // The lane of a rank.
  unsigned lane_of(unsigned rank) const {
    uint64_t rest = lanes;
    while (rank-- && rest)
      rest &= rest - 1;
    return static_cast<unsigned>(std::countr_zero(rest));
  }

protected:
  explicit thread_group(Kind kind_, uint64_t lanes_ = 0) : kind(kind_), lanes(lanes_) {}

private:
  Kind kind;
  uint64_t lanes;
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
};

class thread_block : public thread_group {
public:
  thread_block() : thread_group(Kind::Block) {}
  static unsigned size() { return detail::block_size(); }
  static unsigned num_threads() { return detail::block_size(); }
  static unsigned thread_rank() { return detail::rank_in_block(); }
  static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() {
  return {};
}

class grid_group : public thread_group {
public:
  grid_group() : thread_group(Kind::Grid) {}
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
};
inline grid_group this_grid() {
  return {};
}

// What tiles and lanes at one place have in common. A lane that is not there gives the asking one's value.
class lane_group : public thread_group {
public:
  template <class T> T shfl(T value, int rank, unsigned line = __builtin_LINE()) const {
    return of_rank(value, static_cast<unsigned>(rank) % ranks(), line);
  }
  template <class T> T shfl_down(T value, unsigned by, unsigned line = __builtin_LINE()) const {
    return of_rank(value, mine() + by, line);
  }
  template <class T> T shfl_up(T value, unsigned by, unsigned line = __builtin_LINE()) const {
    return of_rank(value, mine() - by, line);
  }
  template <class T> T shfl_xor(T value, unsigned mask, unsigned line = __builtin_LINE()) const {
    return of_rank(value, mine() ^ mask, line);
  }
  unsigned long long ballot(int predicate, unsigned line = __builtin_LINE()) const {
    return by_rank(__ballot(predicate, line));
  }
  int any(int predicate, unsigned line = __builtin_LINE()) const { return ballot(predicate, line) != 0; }
  int all(int predicate, unsigned line = __builtin_LINE()) const { return ballot(!predicate, line) == 0; }
  template <class T> unsigned long long match_any(T value, unsigned line = __builtin_LINE()) const {
    const auto values = detail::gathered(value, line);
    uint64_t same = 0;
    for (int lane = 0; lane < 64; ++lane)
      same |= (values.active >> lane & uint64_t{std::memcmp(values.bytes[lane], &value, sizeof value) == 0})
              << lane;
    return by_rank(same);
  }
  template <class T> unsigned long long match_all(T value, int& all, unsigned line = __builtin_LINE()) const {
    const unsigned long long same = match_any(value, line);
    all = static_cast<unsigned>(std::popcount(same)) == ranks();
    return all ? same : 0;
  }

protected:
  explicit lane_group(uint64_t lanes) : thread_group(Kind::Lanes, lanes) {}

private:
  unsigned ranks() const { return static_cast<unsigned>(size()); }
  unsigned mine() const { return rank_of(bitgate_host::lane_id()); }
  template <class T> T of_rank(const T& value, unsigned rank, unsigned line) const {
    const auto values = detail::gathered(value, line);
    return rank < ranks() ? values[lane_of(rank)] : value;
  }
  unsigned long long by_rank(uint64_t votes) const {
    unsigned long long ranked = 0;
    unsigned rank = 0;
    for (uint64_t rest = members(); rest; rest &= rest - 1, ++rank)
      ranked |= (votes >> std::countr_zero(rest) & 1ull) << rank;
    return ranked;
  }
};

namespace detail {
inline uint64_t tile_of(unsigned size) {
  const unsigned lane = bitgate_host::lane_id();
  const uint64_t tile = size >= 64 ? ~0ull : ((1ull << size) - 1) << (lane & ~(size - 1));
  const unsigned first = rank_in_block() - lane, left = block_size() - first;
  return left < 64 ? tile & ((1ull << left) - 1) : tile; // the block's last wave may be short
}
} // namespace detail

template <unsigned Size, class Parent = void> class thread_block_tile : public lane_group {
public:
  static_assert(Size != 0 && Size <= 64 && (Size & (Size - 1)) == 0,
                "a tile has 1 to 64 lanes, a power of two");
  thread_block_tile() : lane_group(detail::tile_of(Size)) {}
  template <class Other> thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned thread_rank() const { return detail::rank_in_block() % Size; }
  unsigned meta_group_rank() const { return detail::rank_in_block() / Size; }
  unsigned meta_group_size() const { return (detail::block_size() + Size - 1) / Size; }
};
template <unsigned Size, class Parent> thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

class coalesced_group : public lane_group {
public:
  explicit coalesced_group(uint64_t lanes, unsigned part = 0, unsigned parts = 1)
      : lane_group(lanes), number(part), of(parts) {}
  unsigned meta_group_rank() const { return number; }
  unsigned meta_group_size() const { return of; }

private:
  unsigned number, of;
};
inline coalesced_group coalesced_threads(unsigned line = __builtin_LINE()) {
  return coalesced_group(__activemask(line));
}

inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.kind == thread_group::Kind::Block)
    return coalesced_group(detail::tile_of(size));
  const unsigned rank = parent.rank_of(bitgate_host::lane_id());
  uint64_t members = 0;
  for (unsigned other = rank / size * size; other < rank / size * size + size && other < parent.size();
       ++other)
    members |= 1ull << parent.lane_of(other);
  return coalesced_group(members);
}

template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, unsigned line = __builtin_LINE()) {
  const auto values = detail::gathered(label, line);
  uint64_t members = 0;
  for (uint64_t rest = group.members() & values.active; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    members |= static_cast<uint64_t>(values[lane] == label) << lane;
  }
  return coalesced_group(members);
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, unsigned line = __builtin_LINE()) {
  return labeled_partition(group, predicate, line);
}

template <class Group> void sync(const Group& group, unsigned line = __builtin_LINE()) {
  if constexpr (std::is_base_of_v<lane_group, Group>)
    group.sync(line);
  else
    group.sync();
}
template <class Group> auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <class Group> auto group_size(const Group& group) {
  return group.size();
}

} // namespace cooperative_groups

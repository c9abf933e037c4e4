// Primitives of a block: each thread puts its items into LDS, and reads what it needs between two barriers.
#pragma once

#include "common.hpp"

namespace hipcub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
class BlockReduce {
public:
  struct TempStorage {
    T of[X * Y * Z];
  };
  explicit BlockReduce(TempStorage& memory_) : memory(memory_) {}

  template <class F> T Reduce(T value, F op) { return Reduce(value, op, X * Y * Z); }
  // The result is the first thread's alone.
  template <class F> T Reduce(T value, F op, int valid) {
    memory.of[bitgate::rank_in_block()] = value;
    __syncthreads();
    if (bitgate::rank_in_block() != 0)
      return value;
    T sum = memory.of[0];
    for (int at = 1; at < valid; ++at)
      sum = op(sum, memory.of[at]);
    return sum;
  }
  template <class F, int Items> T Reduce(T (&values)[Items], F op) {
    T sum = values[0];
    for (int at = 1; at < Items; ++at)
      sum = op(sum, values[at]);
    return Reduce(sum, op);
  }
  T Sum(T value) { return Reduce(value, hipcub::Sum()); }
  T Sum(T value, int valid) { return Reduce(value, hipcub::Sum(), valid); }
  template <int Items> T Sum(T (&values)[Items]) { return Reduce(values, hipcub::Sum()); }

private:
  TempStorage& memory;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1> class BlockScan {
public:
  struct TempStorage {
    T of[X * Y * Z];
  };
  explicit BlockScan(TempStorage& memory_) : memory(memory_) {}

  void InclusiveSum(T value, T& out) { InclusiveScan(value, out, Sum()); }
  void InclusiveSum(T value, T& out, T& total) { InclusiveScan(value, out, Sum(), total); }
  void ExclusiveSum(T value, T& out) { ExclusiveScan(value, out, T{}, Sum()); }
  void ExclusiveSum(T value, T& out, T& total) { ExclusiveScan(value, out, T{}, Sum(), total); }
  template <class F> void InclusiveScan(T value, T& out, F op) {
    T total;
    InclusiveScan(value, out, op, total);
  }
  template <class F> void InclusiveScan(T value, T& out, F op, T& total) {
    put(value);
    out = folded(0, rank() + 1, op), total = folded(0, X * Y * Z, op);
  }
  template <class F> void ExclusiveScan(T value, T& out, T init, F op) {
    T total;
    ExclusiveScan(value, out, init, op, total);
  }
  template <class F> void ExclusiveScan(T value, T& out, T init, F op, T& total) {
    put(value);
    out = rank() ? static_cast<T>(op(init, folded(0, rank(), op))) : init;
    total = folded(0, X * Y * Z, op);
  }
  template <int Items> void InclusiveSum(T (&in)[Items], T (&out)[Items]) { scan(in, out, true); }
  template <int Items> void ExclusiveSum(T (&in)[Items], T (&out)[Items]) { scan(in, out, false); }

private:
  static int rank() { return static_cast<int>(bitgate::rank_in_block()); }
  void put(T value) {
    memory.of[rank()] = value;
    __syncthreads();
  }
  template <class F> T folded(int from, int to, F op) const {
    T sum = memory.of[from];
    for (int at = from + 1; at < to; ++at)
      sum = op(sum, memory.of[at]);
    return sum;
  }
  template <int Items> void scan(T (&in)[Items], T (&out)[Items], bool isInclusive) {
    T mine{}, before;
    for (const T& value : in)
      mine = mine + value;
    ExclusiveSum(mine, before);
    for (int at = 0; at < Items; ++at) {
      const T next = before + in[at];
      out[at] = isInclusive ? next : before, before = next;
    }
  }
  TempStorage& memory;
};

template <class T, int X, int Items, BlockLoadAlgorithm How = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1>
class BlockLoad {
public:
  struct TempStorage {};
  BlockLoad() = default;
  explicit BlockLoad(TempStorage&) {}
  template <class I> void Load(I from, T (&items)[Items]) { Load(from, items, X * Y * Z * Items); }
  template <class I> void Load(I from, T (&items)[Items], int valid) {
    for (int item = 0; item < Items; ++item)
      if (const int at = place(item); at < valid)
        items[item] = from[at];
  }
  template <class I, class U> void Load(I from, T (&items)[Items], int valid, U otherwise) {
    for (int item = 0; item < Items; ++item)
      items[item] = place(item) < valid ? from[place(item)] : static_cast<T>(otherwise);
  }

private:
  static int place(int item) {
    const int rank = static_cast<int>(bitgate::rank_in_block());
    return How == BLOCK_LOAD_STRIPED ? item * X * Y * Z + rank : rank * Items + item;
  }
};
template <class T, int X, int Items, BlockStoreAlgorithm How = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1>
class BlockStore {
public:
  struct TempStorage {};
  BlockStore() = default;
  explicit BlockStore(TempStorage&) {}
  template <class I> void Store(I to, T (&items)[Items]) { Store(to, items, X * Y * Z * Items); }
  template <class I> void Store(I to, T (&items)[Items], int valid) {
    const int rank = static_cast<int>(bitgate::rank_in_block());
    for (int item = 0; item < Items; ++item)
      if (const int at = How == BLOCK_STORE_STRIPED ? item * X * Y * Z + rank : rank * Items + item;
          at < valid)
        to[at] = items[item];
  }
};

// The same by functions, of a thread by its rank.
template <class I, class T, int Items> void LoadDirectBlocked(int rank, I from, T (&items)[Items]) {
  for (int item = 0; item < Items; ++item)
    items[item] = from[rank * Items + item];
}
template <int X, class I, class T, int Items> void LoadDirectStriped(int rank, I from, T (&items)[Items]) {
  for (int item = 0; item < Items; ++item)
    items[item] = from[item * X + rank];
}
template <class I, class T, int Items> void StoreDirectBlocked(int rank, I to, T (&items)[Items]) {
  for (int item = 0; item < Items; ++item)
    to[rank * Items + item] = items[item];
}
template <int X, class I, class T, int Items> void StoreDirectStriped(int rank, I to, T (&items)[Items]) {
  for (int item = 0; item < Items; ++item)
    to[item * X + rank] = items[item];
}

// Of all items of the block, those that belong to this thread in sorted order.
template <class K, int X, int Items, class V = void> class BlockRadixSort {
public:
  struct TempStorage {
    K of[X * Items];
  };
  explicit BlockRadixSort(TempStorage& memory_) : memory(memory_) {}
  void Sort(K (&keys)[Items]) { sort(keys, false); }
  void SortDescending(K (&keys)[Items]) { sort(keys, true); }
  // The sorted items are dealt out one by one, thread after thread.
  void SortBlockedToStriped(K (&keys)[Items]) { sort(keys, false, true); }
  void SortDescendingBlockedToStriped(K (&keys)[Items]) { sort(keys, true, true); }

private:
  static_assert(std::is_void_v<V>,
                "BlockRadixSort sorts keys alone on the host: sort their places with them");
  void sort(K (&keys)[Items], bool down, bool striped = false) {
    const auto rank = bitgate::rank_in_block(), first = rank * Items;
    for (int item = 0; item < Items; ++item)
      memory.of[first + static_cast<unsigned>(item)] = keys[item];
    __syncthreads();
    K sorted[Items];
    for (unsigned at = 0; at < X * Items; ++at) {
      unsigned before = 0; // how many come before it
      for (unsigned other = 0; other < X * Items; ++other) {
        const K a = memory.of[other], b = memory.of[at];
        before += (down ? b < a : a < b) || (a == b && other < at);
      }
      const unsigned thread = striped ? before % X : before / Items;
      if (thread == rank)
        sorted[striped ? before / X : before - first] = memory.of[at];
    }
    __syncthreads();
    for (int item = 0; item < Items; ++item)
      keys[item] = sorted[item];
  }
  TempStorage& memory;
};

} // namespace hipcub

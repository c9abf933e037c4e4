// Primitives of a wave, or a part of it: its lanes meet once for each.
#pragma once

#include <hip/hip_cooperative_groups.h>

#include "common.hpp"

namespace hipcub {

template <class T, int Width = 32> class WarpReduce {
public:
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}
  template <class F> T Reduce(T value, F op, unsigned line = __builtin_LINE()) {
    return cooperative_groups::reduce(cooperative_groups::thread_block_tile<Width>(), value, op, line);
  }
  template <class F> T Reduce(T value, F op, int valid, unsigned line = __builtin_LINE()) {
    const auto values = cooperative_groups::detail::gathered(value, line);
    const cooperative_groups::thread_block_tile<Width> tile;
    return cooperative_groups::detail::folded(tile, values, static_cast<unsigned>(valid) - 1, op);
  }
  T Sum(T value, unsigned line = __builtin_LINE()) { return Reduce(value, hipcub::Sum(), line); }
};

template <class T, int Width = 32> class WarpScan {
public:
  struct TempStorage {};
  explicit WarpScan(TempStorage&) {}
  template <class F> void InclusiveScan(T value, T& out, F op, unsigned line = __builtin_LINE()) {
    out = cooperative_groups::inclusive_scan(tile(), value, op, line);
  }
  void InclusiveSum(T value, T& out, unsigned line = __builtin_LINE()) {
    InclusiveScan(value, out, Sum(), line);
  }
  void ExclusiveSum(T value, T& out, unsigned line = __builtin_LINE()) {
    out = cooperative_groups::exclusive_scan(tile(), value, Sum(), line);
  }
  template <class F> void ExclusiveScan(T value, T& out, T init, F op, unsigned line = __builtin_LINE()) {
    const T before = cooperative_groups::exclusive_scan(tile(), value, op, line);
    out = tile().thread_rank() ? static_cast<T>(op(init, before)) : init;
  }

private:
  static cooperative_groups::thread_block_tile<Width> tile() { return {}; }
};

} // namespace hipcub

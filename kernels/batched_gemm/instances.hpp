// The instances by the lanes of a wave, stated for 16-bit elements (TilingFor). One translation unit makes
// those of one type and wave size. kernels/batched_gemm/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace batched_gemm {

template <class Tiling> using Rcr = Variant<Order::row, Order::column, Tiling>;
template <class Tiling> using Rrr = Variant<Order::row, Order::row, Tiling>;
template <class Tiling> using Crr = Variant<Order::column, Order::row, Tiling>;
template <class Tiling> using Ccr = Variant<Order::column, Order::column, Tiling>;

// For each layout: one that takes any size, and one that moves vectors.
template <class Any, class Vectors>
using EachLayout = Registrations<Rcr<Any>, Rcr<Vectors>, Rrr<Any>, Rrr<Vectors>, Crr<Any>, Crr<Vectors>,
                                 Ccr<Any>, Ccr<Vectors>>;

// Block tile, waves along M and N, fragment, vectors of A, B and C, lanes of a wave.
template <class T>
using InstancesWave64 =
    EachLayout<AnySize<T, 64>, TilingFor<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>>;
template <class T>
using InstancesWave32 =
    EachLayout<AnySize<T, 32>, TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>;

} // namespace batched_gemm

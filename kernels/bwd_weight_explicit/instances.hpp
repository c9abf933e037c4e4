// The instances by the lanes of a wave, stated for 16-bit elements (TilingFor). One translation unit makes
// those of one type and wave size. kernels/bwd_weight_explicit/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace bwd_weight_explicit {

// A GEMM of columns of dy and rows of x to dw, and the same tiling to the workspace.
template <class ToResult, class ToWorkspace>
using PairOf = Pair<gemm::Variant<gemm::Order::column, gemm::Order::row, ToResult>,
                    gemm::Variant<gemm::Order::column, gemm::Order::row, ToWorkspace>>;
template <class T, int Wave>
using AnySizePair = PairOf<AnySize<ResultTypes<T>, Wave>, AnySize<WorkspaceTypes<T>, Wave>>;
template <class T, class Tile, int WavesM, int WavesN, class Fragment, int Wave>
using VectorPair =
    PairOf<TilingFor<ResultTypes<T>, Tile, WavesM, WavesN, Fragment, Vectors<8, 8, 8>, Wave>,
           TilingFor<WorkspaceTypes<T>, Tile, WavesM, WavesN, Fragment, Vectors<8, 8, 8>, Wave>>;

// Block tile, waves along M and N, fragment, lanes of a wave.
template <class T>
using InstancesWave64 = Registrations<AnySizePair<T, 64>, VectorPair<T, Extent<128, 64, 32>, 4, 1, Wide, 64>>;
template <class T>
using InstancesWave32 = Registrations<AnySizePair<T, 32>, VectorPair<T, Extent<64, 64, 32>, 2, 2, Small, 32>>;

} // namespace bwd_weight_explicit

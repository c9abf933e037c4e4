// The instances by the size of the elements in bits and the lanes of a wave. One translation unit makes those
// of one type and wave size. kernels/bwd_weight_explicit/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace bwd_weight_explicit {

// A GEMM of columns of dy and rows of x to dw, and the same tiling to the workspace.
template <class ToResult, class ToWorkspace>
using PairOf = Pair<gemm::Variant<gemm::Order::column, gemm::Order::row, ToResult>,
                    gemm::Variant<gemm::Order::column, gemm::Order::row, ToWorkspace>>;
template <class T, int Wave>
using AnySizePair = PairOf<AnySize<ResultTypes<T>, Wave>, AnySize<WorkspaceTypes<T>, Wave>>;
template <class T, class Tile, int WavesM, int WavesN, class Fragment, int Vector, int Wave>
using VectorPair =
    PairOf<Tiling<ResultTypes<T>, Tile, WavesM, WavesN, Fragment, Vectors<Vector, Vector, Vector>, Wave>,
           Tiling<WorkspaceTypes<T>, Tile, WavesM, WavesN, Fragment, Vectors<Vector, Vector, 4>, Wave>>;

// Block tile, waves along M and N, fragment, elements of a vector (of floats: 4), lanes of a wave.
template <class T>
using Instances16Wave64 =
    Registrations<AnySizePair<T, 64>, VectorPair<T, Extent<128, 64, 32>, 4, 1, Wide, 8, 64>>;
template <class T>
using Instances16Wave32 =
    Registrations<AnySizePair<T, 32>, VectorPair<T, Extent<64, 64, 32>, 2, 2, Small, 8, 32>>;
template <class T>
using Instances32Wave64 =
    Registrations<AnySizePair<T, 64>, VectorPair<T, Extent<128, 64, 16>, 4, 1, Small32, 4, 64>>;
template <class T>
using Instances32Wave32 =
    Registrations<AnySizePair<T, 32>, VectorPair<T, Extent<64, 64, 16>, 2, 2, Small32, 4, 32>>;

} // namespace bwd_weight_explicit

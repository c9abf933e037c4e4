// The instances by the size of the elements in bits and the lanes of a wave. One translation unit makes those
// of one type and wave size. kernels/bwd_weight_explicit/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace bwd_weight_explicit {

// The same tiling with results of T and with floats.
template <class T, class Tile, int WavesM, int WavesN, class Fragment, class Vectors, class FloatVectors,
          int Wave = 64>
using Both = Pair<gemm::Variant<gemm::Order::column, gemm::Order::row,
                                Tiling<Whole<T>, Tile, WavesM, WavesN, Fragment, Vectors, Wave>>,
                  gemm::Variant<gemm::Order::column, gemm::Order::row,
                                Tiling<Partial<T>, Tile, WavesM, WavesN, Fragment, FloatVectors, Wave>>>;
using V1 = Vectors<1, 1, 1>;
using V4 = Vectors<4, 4, 4>;
using V8 = Vectors<8, 8, 8>;
using V8To4 = Vectors<8, 8, 4>;

// Block tile, waves along M and N, fragment, vectors of dy, x and dw (and of the workspace), lanes of a wave.
template <class T>
using Instances16Wave64 = Registrations<Both<T, Extent<32, 32, 32>, 1, 1, Small, V1, V1>,
                                        Both<T, Extent<128, 64, 32>, 4, 1, Wide, V8, V8To4>>;
template <class T>
using Instances16Wave32 = Registrations<Both<T, Extent<32, 32, 32>, 2, 2, Small, V1, V1, 32>,
                                        Both<T, Extent<64, 64, 32>, 2, 2, Small, V8, V8To4, 32>>;
template <class T>
using Instances32Wave64 = Registrations<Both<T, Extent<32, 32, 16>, 1, 1, Small32, V1, V1>,
                                        Both<T, Extent<128, 64, 16>, 4, 1, Small32, V4, V4>>;
template <class T>
using Instances32Wave32 = Registrations<Both<T, Extent<32, 32, 16>, 2, 2, Small32, V1, V1, 32>,
                                        Both<T, Extent<64, 64, 16>, 2, 2, Small32, V4, V4, 32>>;

} // namespace bwd_weight_explicit

// The instances by the size of their elements (16: f16, bf16; 32: f32) and the lanes of a wave. One
// translation unit makes those of one type and wave size. kernels/grouped_bwd_data/declaration.py lists the
// same.
#pragma once

#include "dispatch.hpp"

namespace grouped_bwd_data {

template <class Tiling> using Prefetched = Staged<2, Tiling>;
template <class Tiling> using Ring3 = Ring<3, false, false, Tiling>;
using W8 = Vectors<8, 8, 8>;

// Block tile, waves along M and N, fragment, vectors of dy, w and dx, lanes of a wave.
template <class T>
using Instances16Wave64 =
    Registrations<AnySize<T, 64>, Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 1, 1>>,
                  Tiling<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<4, 4, 4>>,
                  Tiling<T, Extent<64, 64, 64>, 1, 1, Wide, Vectors<8, 8, 8>>,
                  Tiling<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>,
                  Prefetched<Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 4, 4>>>,
                  Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Wide, W8>>>;
template <class T>
using Instances16Wave32 =
    Registrations<AnySize<T, 32>, Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>,
                  Prefetched<Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 4, 4>, 32>>,
                  Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Small, W8, 32>>,
                  Ring3<Tiling<T, Extent<128, 64, 32>, 2, 2, Small, W8, 32>>,
                  Ring3<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, W8, 32>>,
                  Prefetched<Tiling<T, Extent<128, 16, 32>, 4, 1, Small, Vectors<8, 1, 1>, 32>>>;
template <class T>
using Instances32Wave64 =
    Registrations<AnySize<T, 64>, Tiling<T, Extent<64, 64, 16>, 2, 1, Small32, Vectors<4, 1, 1>>,
                  Tiling<T, Extent<64, 32, 32>, 1, 1, Small32, Vectors<2, 2, 2>>,
                  Tiling<T, Extent<64, 64, 32>, 1, 1, Small32, Vectors<4, 4, 4>>,
                  Tiling<T, Extent<128, 64, 32>, 4, 1, Small32, Vectors<4, 4, 4>>,
                  Prefetched<Tiling<T, Extent<64, 64, 16>, 2, 1, Small32, Vectors<4, 2, 2>>>>;
template <class T>
using Instances32Wave32 =
    Registrations<AnySize<T, 32>, Tiling<T, Extent<64, 64, 16>, 2, 2, Small32, Vectors<4, 4, 4>, 32>,
                  Prefetched<Tiling<T, Extent<64, 32, 16>, 2, 2, Small32, Vectors<4, 2, 2>, 32>>>;

// For elements that are rounded to 8-bit factors as they are loaded.
template <class T> using Instances8Wave64 = Registrations<AnySize<T, 64>>;
template <class T> using Instances8Wave32 = Registrations<AnySize<T, 32>>;

} // namespace grouped_bwd_data

// The instances by the lanes of a wave, for f16 and bf16. One translation unit makes those of one type and
// wave size. kernels/bwd_weight_wavelet/declaration.py lists the same.
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "gemm.hpp"

namespace bwd_weight_wavelet {

// As many load waves as there are math waves, or twice as many.
template <class Variant> using Load256 = Wavelet<Variant, 256>;
using W8 = Vectors<8, 8, 8>;
// K in fours, such as the 36 channels of a detector's boxes.
using K4 = Vectors<4, 8, 8>;

// Block tile, math waves along M and N, fragment, vectors of dy, x and dw, lanes of a wave.
template <class T>
using InstancesWave64 =
    Registrations<Load256<General<Tiling<T, Extent<128, 128, 32>, 2, 2, Wide, W8>>>,
                  Load256<General<Tiling<T, Extent<64, 64, 32>, 2, 2, Wide, Vectors<1, 1, 1>>>>,
                  Load256<General<Tiling<T, Extent<128, 64, 32>, 2, 2, Wide, W8>>>,
                  Load256<General<Tiling<T, Extent<64, 128, 32>, 2, 2, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<128, 128, 32>, 2, 2, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<64, 64, 32>, 2, 2, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<128, 64, 32>, 2, 2, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<64, 128, 32>, 2, 2, Wide, W8>>>,
                  Load256<General<Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, K4>>>,
                  Load256<General<Tiling<T, Extent<128, 64, 32>, 2, 1, Wide, W8>>>,
                  Load256<General<Tiling<T, Extent<64, 128, 32>, 1, 2, Wide, K4>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<128, 64, 32>, 2, 1, Wide, W8>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<64, 128, 32>, 1, 2, Wide, W8>>>>;
template <class T>
using InstancesWave32 =
    Registrations<Load256<General<Tiling<T, Extent<64, 64, 32>, 2, 4, Small, Vectors<1, 1, 1>, 32>>>,
                  Load256<General<Tiling<T, Extent<128, 128, 32>, 4, 2, Small, W8, 32>>>,
                  Load256<General<Tiling<T, Extent<128, 64, 32>, 4, 2, Small, W8, 32>>>,
                  Load256<PointwiseStride1<Tiling<T, Extent<64, 64, 32>, 2, 4, Small, W8, 32>>>,
                  Load256<General<Tiling<T, Extent<64, 64, 32>, 2, 2, Small, W8, 32>>>,
                  Load256<General<Tiling<T, Extent<64, 128, 32>, 2, 2, Small, K4, 32>>>>;

} // namespace bwd_weight_wavelet

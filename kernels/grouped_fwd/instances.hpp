// The instances by the size of their elements (16: f16, bf16; 32: f32) and the lanes of a wave. One
// translation unit makes those of one type and wave size. kernels/grouped_fwd/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace grouped_fwd {

using Wide = Extent<32, 32, 8>;
using Small = Extent<16, 16, 16>;
using Small32 = Extent<16, 16, 4>;

template <class Tiling> using General = Variant<Specialisation::general, Tiling>;
template <class Tiling> using OddC = Variant<Specialisation::odd_c, Tiling>;
template <class Tiling> using Pointwise = Variant<Specialisation::filter_1x1_pad_0, Tiling>;
template <class Tiling> using PointwiseStride1 = Variant<Specialisation::filter_1x1_stride_1_pad_0, Tiling>;

// Block tile, waves along M and N, fragment, vectors of x, w and y, lanes of a wave.
template <class T>
using Instances16Wave64 =
    Registrations<OddC<Tiling<T, Extent<32, 32, 32>, 1, 1, Small, Vectors<1, 1, 1>>>,
                  General<Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<4, 4, 1>>>,
                  General<Tiling<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<8, 8, 4>>>,
                  General<Tiling<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>>,
                  Pointwise<Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 8, 8>>>,
                  PointwiseStride1<Tiling<T, Extent<64, 64, 64>, 1, 1, Wide, Vectors<8, 8, 8>>>>;
template <class T>
using Instances16Wave32 =
    Registrations<OddC<Tiling<T, Extent<32, 32, 32>, 2, 2, Small, Vectors<1, 1, 1>, 32>>,
                  General<Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>,
                  Pointwise<Tiling<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<4, 4, 4>, 32>>,
                  PointwiseStride1<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<8, 8, 8>, 32>>>;
template <class T>
using Instances32Wave64 =
    Registrations<OddC<Tiling<T, Extent<32, 32, 16>, 1, 1, Small32, Vectors<1, 1, 1>>>,
                  General<Tiling<T, Extent<64, 64, 16>, 2, 1, Small32, Vectors<2, 2, 1>>>,
                  General<Tiling<T, Extent<64, 32, 16>, 1, 1, Small32, Vectors<4, 4, 2>>>,
                  General<Tiling<T, Extent<128, 64, 32>, 4, 1, Small32, Vectors<4, 4, 4>>>,
                  Pointwise<Tiling<T, Extent<64, 64, 16>, 2, 1, Small32, Vectors<4, 4, 4>>>,
                  PointwiseStride1<Tiling<T, Extent<64, 64, 32>, 1, 1, Small32, Vectors<4, 4, 4>>>>;
template <class T>
using Instances32Wave32 =
    Registrations<OddC<Tiling<T, Extent<32, 32, 16>, 2, 2, Small32, Vectors<1, 1, 1>, 32>>,
                  General<Tiling<T, Extent<64, 64, 16>, 2, 2, Small32, Vectors<4, 4, 4>, 32>>,
                  Pointwise<Tiling<T, Extent<64, 32, 16>, 2, 1, Small32, Vectors<2, 2, 2>, 32>>,
                  PointwiseStride1<Tiling<T, Extent<64, 64, 32>, 2, 2, Small32, Vectors<4, 4, 4>, 32>>>;

} // namespace grouped_fwd

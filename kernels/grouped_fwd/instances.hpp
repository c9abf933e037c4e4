// The instances by the lanes of a wave, stated for 16-bit elements (TilingFor), and those of 8-bit factors.
// One translation unit makes those of some types and one wave size; kernels/grouped_fwd/declaration.py lists
// the same.
#pragma once

#include "dispatch.hpp"

namespace grouped_fwd {

template <class Tiling> using General = Variant<Specialisation::general, Tiling>;
template <class Tiling> using OddC = Variant<Specialisation::odd_c, Tiling>;
template <class Tiling> using Pointwise = Variant<Specialisation::filter_1x1_pad_0, Tiling>;
template <class Tiling> using PointwiseStride1 = Variant<Specialisation::filter_1x1_stride_1_pad_0, Tiling>;
// The next step is fetched while one is multiplied.
template <class Tiling> using Prefetched = General<Staged<2, Tiling>>;

// Block tile, waves along M and N, fragment, vectors of x, w and y, lanes of a wave.
template <class T>
using InstancesWave64 =
    Registrations<OddC<AnySize<T, 64>>,
                  General<TilingFor<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<4, 4, 1>>>,
                  General<TilingFor<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<8, 8, 4>>>,
                  General<TilingFor<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>>,
                  Pointwise<TilingFor<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 8, 8>>>,
                  PointwiseStride1<TilingFor<T, Extent<64, 64, 64>, 1, 1, Wide, Vectors<8, 8, 8>>>,
                  Prefetched<TilingFor<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 8, 4>>>>;
template <class T>
using InstancesWave32 =
    Registrations<OddC<AnySize<T, 32>>,
                  General<TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>,
                  Pointwise<TilingFor<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<4, 4, 4>, 32>>,
                  PointwiseStride1<TilingFor<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<8, 8, 8>, 32>>,
                  Prefetched<TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 4>, 32>>>;

// Of 16 bits, larger: a ring of three steps, in which w lies turned, and one for few channels c.
template <class Tiling> using Ring3 = General<Ring<3, false, true, Tiling>>;
using W8 = Vectors<8, 8, 8>;
template <class T> using LargeWave64 = Registrations<Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Wide, W8>>>;
template <class T>
using LargeWave32 =
    Registrations<Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Small, W8, 32>>,
                  Ring3<Tiling<T, Extent<128, 64, 32>, 2, 2, Small, W8, 32>>,
                  Ring3<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, W8, 32>>,
                  OddC<Staged<2, Tiling<T, Extent<128, 64, 32>, 8, 2, Small, Vectors<1, 1, 8>, 32>>>>;

template <class T>
using InstancesI8Wave64 =
    Registrations<OddC<AnySize<T, 64>>,
                  General<Tiling<T, Extent<64, 32, 64>, 2, 1, Small8, Vectors<4, 4, 1>>>,
                  General<Tiling<T, Extent<128, 64, 64>, 4, 1, Small8, Vectors<16, 16, 16>>>,
                  PointwiseStride1<Tiling<T, Extent<64, 64, 64>, 2, 1, Small8, Vectors<8, 8, 8>>>,
                  Prefetched<Tiling<T, Extent<64, 64, 64>, 2, 1, Small8, Vectors<16, 16, 8>>>>;
template <class T>
using InstancesI8Wave32 =
    Registrations<OddC<AnySize<T, 32>>,
                  General<Tiling<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<4, 4, 1>, 32>>,
                  Prefetched<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<16, 16, 8>, 32>>>;

// 8-bit floats: any K and C, or vectors; of one type also prefetched.
template <class T>
using InstancesF8Wave64 =
    Registrations<OddC<AnySize<T, 64>>,
                  General<Tiling<T, Extent<64, 32, 64>, 2, 1, Small8, Vectors<8, 8, 4>>>>;
template <class T>
using InstancesF8Wave32 =
    Registrations<OddC<AnySize<T, 32>>,
                  General<Tiling<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<8, 8, 4>, 32>>>;
template <class T>
using PrefetchedF8Wave64 =
    Registrations<Prefetched<Tiling<T, Extent<64, 64, 64>, 2, 1, Small8, Vectors<16, 16, 8>>>>;
template <class T>
using PrefetchedF8Wave32 =
    Registrations<Prefetched<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<16, 16, 8>, 32>>>;

} // namespace grouped_fwd

// The variants that the families of backward weight have in common, by the lanes of a wave: for factors of 16
// and 32 bits (TilingFor), and for 8. Each is given what registers a family's instances (OneStageInstances
// ...).
#pragma once

#include "dispatch.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

template <class Tiling> using General = Variant<Specialisation::general, Tiling>;
template <class Tiling> using Pointwise = Variant<Specialisation::filter_1x1_pad_0, Tiling>;
template <class Tiling> using PointwiseStride1 = Variant<Specialisation::filter_1x1_stride_1_pad_0, Tiling>;
// The next step is fetched while one is multiplied.
template <class Tiling> using Prefetched = General<Staged<2, Tiling>>;
// Eight neighbouring groups of one channel each make one GEMM.
template <class Tiling> using Merged = Variant<Specialisation::general, Tiling, 8>;

// Block tile, waves along M and N, fragment, vectors of dy, x and dw, lanes of a wave. The first takes any K
// and C.
template <template <class...> class R, class T>
using VariantsWave64 =
    R<General<AnySize<T, 64>>, General<TilingFor<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<4, 4, 4>>>,
      Prefetched<TilingFor<T, Extent<128, 64, 32>, 4, 1, Wide, Vectors<8, 8, 8>>>,
      Pointwise<TilingFor<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 8, 8>>>,
      PointwiseStride1<TilingFor<T, Extent<64, 64, 64>, 2, 1, Wide, Vectors<8, 8, 8>>>,
      Merged<TilingFor<T, Extent<16, 16, 32>, 1, 1, Small, Vectors<1, 1, 1>>>>;
template <template <class...> class R, class T>
using VariantsWave32 =
    R<General<AnySize<T, 32>>,
      Prefetched<TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>,
      PointwiseStride1<TilingFor<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<4, 4, 4>, 32>>,
      Merged<TilingFor<T, Extent<16, 16, 32>, 1, 1, Small, Vectors<1, 1, 1>, 32>>>;

// Of 16 bits, larger: a ring of three steps, in which dy lies turned, and one for few channels c.
template <class Tiling> using Ring3 = General<Ring<3, true, false, Tiling>>;
using W8 = Vectors<8, 8, 8>;
template <template <class...> class R, class T>
using LargeWave64 = R<Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Wide, W8>>>;
template <template <class...> class R, class T>
using LargeWave32 = R<Ring3<Tiling<T, Extent<128, 128, 32>, 2, 2, Small, W8, 32>>,
                      Ring3<Tiling<T, Extent<64, 64, 64>, 2, 2, Small, W8, 32>>,
                      Prefetched<Tiling<T, Extent<64, 64, 32>, 4, 2, Small, Vectors<8, 1, 1>, 32>>>;

// One that takes any K and C, and one that moves vectors: for families and types that need no more.
template <template <class...> class R, class T>
using PairWave64 =
    R<General<AnySize<T, 64>>, Prefetched<TilingFor<T, Extent<128, 64, 32>, 4, 1, Wide, Vectors<8, 8, 8>>>>;
template <template <class...> class R, class T>
using PairWave32 = R<General<AnySize<T, 32>>,
                     Prefetched<TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>>;
template <template <class...> class R, class T>
using Pair8Wave64 =
    R<General<AnySize<T, 64>>, General<TilingFor<T, Extent<64, 64, 64>, 2, 1, Small8, Vectors<8, 8, 8>>>>;
template <template <class...> class R, class T>
using Pair8Wave32 =
    R<General<AnySize<T, 32>>, General<TilingFor<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<8, 8, 8>, 32>>>;

} // namespace bitgate::implicit_gemm::bwd_weight

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_fwd {
namespace {

using T = float;
using Small = Extent<16, 16, 4>;

// Block tile, waves along M and N, fragment, vectors of x, w and y, lanes of a wave.
using OddC = Variant<Specialisation::odd_c, Tiling<T, Extent<32, 32, 16>, 2, 2, Small, Vectors<1, 1, 1>, 32>>;
using A4B4C4 =
    Variant<Specialisation::general, Tiling<T, Extent<64, 64, 16>, 2, 2, Small, Vectors<4, 4, 4>, 32>>;
using Filter1x1Pad0 = Variant<Specialisation::filter_1x1_pad_0,
                              Tiling<T, Extent<64, 32, 16>, 2, 1, Small, Vectors<2, 2, 2>, 32>>;
using Filter1x1Stride1Pad0 = Variant<Specialisation::filter_1x1_stride_1_pad_0,
                                     Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<4, 4, 4>, 32>>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<OddC>("f32_32x32x16_a1b1c1_odd_c_w32")),
    bitgate::Registration(instance<A4B4C4>("f32_64x64x16_a4b4c4_w32")),
    bitgate::Registration(instance<Filter1x1Pad0>("f32_64x32x16_a2b2c2_1x1p0_w32")),
    bitgate::Registration(instance<Filter1x1Stride1Pad0>("f32_64x64x32_a4b4c4_1x1s1p0_w32")),
};

} // namespace
} // namespace grouped_fwd
#endif

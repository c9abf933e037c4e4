#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_fwd {
namespace {

using T = bitgate::bf16;
using Small = Extent<16, 16, 16>;

// Block tile, waves along M and N, fragment, vectors of x, w and y, lanes of a wave.
using OddC = Variant<Specialisation::odd_c, Tiling<T, Extent<32, 32, 32>, 2, 2, Small, Vectors<1, 1, 1>, 32>>;
using A8B8C8 =
    Variant<Specialisation::general, Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>;
using Filter1x1Pad0 = Variant<Specialisation::filter_1x1_pad_0,
                              Tiling<T, Extent<64, 32, 32>, 2, 1, Small, Vectors<4, 4, 4>, 32>>;
using Filter1x1Stride1Pad0 = Variant<Specialisation::filter_1x1_stride_1_pad_0,
                                     Tiling<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<8, 8, 8>, 32>>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<OddC>("bf16_32x32x32_a1b1c1_odd_c_w32")),
    bitgate::Registration(instance<A8B8C8>("bf16_64x64x32_a8b8c8_w32")),
    bitgate::Registration(instance<Filter1x1Pad0>("bf16_64x32x32_a4b4c4_1x1p0_w32")),
    bitgate::Registration(instance<Filter1x1Stride1Pad0>("bf16_64x64x64_a8b8c8_1x1s1p0_w32")),
};

} // namespace
} // namespace grouped_fwd
#endif

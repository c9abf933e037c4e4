#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
namespace grouped_fwd {
namespace {

using T = bitgate::bf16;
using Wide = Extent<32, 32, 8>;
using Small = Extent<16, 16, 16>;

// Block tile, waves along M and N, fragment, vectors of x, w and y.
using OddC = Variant<Specialisation::odd_c, Tiling<T, Extent<32, 32, 32>, 1, 1, Small, Vectors<1, 1, 1>>>;
using A4B4C1 = Variant<Specialisation::general, Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<4, 4, 1>>>;
using A8B8C4 = Variant<Specialisation::general, Tiling<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<8, 8, 4>>>;
using A8B8C8 = Variant<Specialisation::general, Tiling<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>>;
using Filter1x1Pad0 =
    Variant<Specialisation::filter_1x1_pad_0, Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 8, 8>>>;
using Filter1x1Stride1Pad0 = Variant<Specialisation::filter_1x1_stride_1_pad_0,
                                     Tiling<T, Extent<64, 64, 64>, 1, 1, Wide, Vectors<8, 8, 8>>>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<OddC>("bf16_32x32x32_a1b1c1_odd_c")),
    bitgate::Registration(instance<A4B4C1>("bf16_64x64x32_a4b4c1")),
    bitgate::Registration(instance<A8B8C4>("bf16_64x32x32_a8b8c4")),
    bitgate::Registration(instance<A8B8C8>("bf16_128x64x64_a8b8c8")),
    bitgate::Registration(instance<Filter1x1Pad0>("bf16_64x64x32_a8b8c8_1x1p0")),
    bitgate::Registration(instance<Filter1x1Stride1Pad0>("bf16_64x64x64_a8b8c8_1x1s1p0")),
};

} // namespace
} // namespace grouped_fwd
#endif

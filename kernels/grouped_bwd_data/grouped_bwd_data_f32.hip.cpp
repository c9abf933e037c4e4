#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
namespace grouped_bwd_data {
namespace {

using T = float;
using Small = Extent<16, 16, 4>;

// Block tile, waves along M and N, fragment, vectors of dy, w and dx.
using A1B1C1 = Tiling<T, Extent<32, 32, 16>, 1, 1, Small, Vectors<1, 1, 1>>;
using A4B1C1 = Tiling<T, Extent<64, 64, 16>, 2, 1, Small, Vectors<4, 1, 1>>;
using A2B2C2 = Tiling<T, Extent<64, 32, 32>, 1, 1, Small, Vectors<2, 2, 2>>;
using A4B4C4Wave = Tiling<T, Extent<64, 64, 32>, 1, 1, Small, Vectors<4, 4, 4>>;
using A4B4C4 = Tiling<T, Extent<128, 64, 32>, 4, 1, Small, Vectors<4, 4, 4>>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<A1B1C1>("f32_32x32x16_a1b1c1")),
    bitgate::Registration(instance<A4B1C1>("f32_64x64x16_a4b1c1")),
    bitgate::Registration(instance<A2B2C2>("f32_64x32x32_a2b2c2")),
    bitgate::Registration(instance<A4B4C4Wave>("f32_64x64x32_a4b4c4")),
    bitgate::Registration(instance<A4B4C4>("f32_128x64x32_a4b4c4")),
};

} // namespace
} // namespace grouped_bwd_data
#endif

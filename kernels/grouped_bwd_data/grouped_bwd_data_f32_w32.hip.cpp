#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_bwd_data {
namespace {

using T = float;
using Small = Extent<16, 16, 4>;

// Block tile, waves along M and N, fragment, vectors of dy, w and dx, lanes of a wave.
using A1B1C1 = Tiling<T, Extent<32, 32, 16>, 2, 2, Small, Vectors<1, 1, 1>, 32>;
using A4B4C4 = Tiling<T, Extent<64, 64, 16>, 2, 2, Small, Vectors<4, 4, 4>, 32>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<A1B1C1>("f32_32x32x16_a1b1c1_w32")),
    bitgate::Registration(instance<A4B4C4>("f32_64x64x16_a4b4c4_w32")),
};

} // namespace
} // namespace grouped_bwd_data
#endif

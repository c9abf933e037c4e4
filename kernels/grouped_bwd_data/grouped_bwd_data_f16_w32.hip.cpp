#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_bwd_data {
namespace {

using T = bitgate::f16;
using Small = Extent<16, 16, 16>;

// Block tile, waves along M and N, fragment, vectors of dy, w and dx, lanes of a wave.
using A1B1C1 = Tiling<T, Extent<32, 32, 32>, 2, 2, Small, Vectors<1, 1, 1>, 32>;
using A8B8C8 = Tiling<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<A1B1C1>("f16_32x32x32_a1b1c1_w32")),
    bitgate::Registration(instance<A8B8C8>("f16_64x64x32_a8b8c8_w32")),
};

} // namespace
} // namespace grouped_bwd_data
#endif

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
namespace grouped_bwd_data {
namespace {

using T = bitgate::bf16;
using Wide = Extent<32, 32, 8>;
using Small = Extent<16, 16, 16>;

// Block tile, waves along M and N, fragment, vectors of dy, w and dx.
using A1B1C1 = Tiling<T, Extent<32, 32, 32>, 1, 1, Small, Vectors<1, 1, 1>>;
using A8B1C1 = Tiling<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<8, 1, 1>>;
using A4B4C4 = Tiling<T, Extent<64, 32, 32>, 1, 1, Wide, Vectors<4, 4, 4>>;
using A8B8C8Wave = Tiling<T, Extent<64, 64, 64>, 1, 1, Wide, Vectors<8, 8, 8>>;
using A8B8C8 = Tiling<T, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>;

const bitgate::Registration registrations[] = {
    bitgate::Registration(instance<A1B1C1>("bf16_32x32x32_a1b1c1")),
    bitgate::Registration(instance<A8B1C1>("bf16_64x64x32_a8b1c1")),
    bitgate::Registration(instance<A4B4C4>("bf16_64x32x32_a4b4c4")),
    bitgate::Registration(instance<A8B8C8Wave>("bf16_64x64x64_a8b8c8")),
    bitgate::Registration(instance<A8B8C8>("bf16_128x64x64_a8b8c8")),
};

} // namespace
} // namespace grouped_bwd_data
#endif

#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
namespace bwd_weight_multiple_d {
static const Pair16Wave32<Registrations, Types<bitgate::bf16, bitgate::bf16, float>, 4>
    instances("bf16_f32_bf16");
}
#endif

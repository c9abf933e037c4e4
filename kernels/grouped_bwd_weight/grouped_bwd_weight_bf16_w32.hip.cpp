#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_bwd_weight {
static const Variants16Wave32<Registrations, Types<bitgate::bf16>, 8> instances("bf16");
}
#endif

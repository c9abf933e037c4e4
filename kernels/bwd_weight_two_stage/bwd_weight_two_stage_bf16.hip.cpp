#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
namespace bwd_weight_two_stage {
static const Pair16Wave64<Registrations, Types<bitgate::bf16>, 8> instances("bf16");
}
#endif

#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
namespace bwd_weight_two_stage {
static const Pair16Wave32<Registrations, Types<bitgate::f16>, 8> instances("f16");
}
#endif

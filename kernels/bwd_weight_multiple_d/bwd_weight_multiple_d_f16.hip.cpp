#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
namespace bwd_weight_multiple_d {
static const Pair16Wave64<Registrations, Types<bitgate::f16>, 8> instances("f16");
}
#endif

#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

namespace grouped_bwd_weight {
#if BITGATE_HAS_WAVE(64)
static const Pair8Wave64<Registrations, Types<int8_t>, 8> instances("i8");
#endif
#if BITGATE_HAS_WAVE(32)
static const Pair8Wave32<Registrations, Types<int8_t>, 8> instances_w32("i8");
#endif
} // namespace grouped_bwd_weight

#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
namespace grouped_bwd_weight {
static const Variants32Wave64<Registrations, Types<float>> instances("f32");
}
#endif

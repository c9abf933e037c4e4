#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
namespace grouped_bwd_weight {
static const Variants32Wave32<Registrations, Types<float>> instances("f32");
}
#endif

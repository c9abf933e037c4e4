#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const batched_gemm::Instances16Wave32<batched_gemm::Types<bitgate::f16>> instances("f16");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const batched_gemm::Instances16Wave64<batched_gemm::Types<bitgate::f16>> instances("f16");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const batched_gemm::Instances16Wave64<batched_gemm::Types<bitgate::bf16>> instances("bf16");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const batched_gemm::Instances32Wave64<batched_gemm::Types<float>> instances("f32");
#endif

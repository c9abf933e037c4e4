#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const batched_gemm::Instances32Wave32<batched_gemm::Types<float>> instances("f32");
#endif

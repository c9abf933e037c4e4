#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const bwd_weight_explicit::Instances32Wave64<float> instances("f32");
#endif

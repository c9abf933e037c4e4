#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const bwd_weight_explicit::Instances32Wave32<float> instances("f32");
#endif

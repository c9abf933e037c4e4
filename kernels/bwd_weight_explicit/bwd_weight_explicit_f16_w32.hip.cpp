#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const bwd_weight_explicit::Instances16Wave32<bitgate::f16> instances("f16");
#endif

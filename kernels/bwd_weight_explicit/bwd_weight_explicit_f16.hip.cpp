#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const bwd_weight_explicit::Instances16Wave64<bitgate::f16> instances("f16");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const bwd_weight_explicit::Instances16Wave32<bitgate::bf16> instances("bf16");
#endif

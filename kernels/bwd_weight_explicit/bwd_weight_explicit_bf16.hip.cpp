#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const bwd_weight_explicit::Instances16Wave64<bitgate::bf16> instances("bf16");
#endif

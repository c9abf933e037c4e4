#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const bwd_weight_wavelet::InstancesWave64<bwd_weight_wavelet::Types<bitgate::bf16>> instances("bf16");
#endif

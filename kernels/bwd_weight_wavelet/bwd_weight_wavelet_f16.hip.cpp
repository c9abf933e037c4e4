#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const bwd_weight_wavelet::InstancesWave64<bwd_weight_wavelet::Types<bitgate::f16>> instances("f16");
#endif

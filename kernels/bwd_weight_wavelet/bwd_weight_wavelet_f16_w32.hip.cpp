#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const bwd_weight_wavelet::InstancesWave32<bwd_weight_wavelet::Types<bitgate::f16>> instances("f16");
#endif

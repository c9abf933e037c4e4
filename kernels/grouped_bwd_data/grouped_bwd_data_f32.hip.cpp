#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_bwd_data::Instances32Wave64<grouped_bwd_data::Types<float>> instances("f32");
#endif

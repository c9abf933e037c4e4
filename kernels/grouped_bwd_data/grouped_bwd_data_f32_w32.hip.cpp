#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const grouped_bwd_data::Instances32Wave32<grouped_bwd_data::Types<float>> instances("f32");
#endif

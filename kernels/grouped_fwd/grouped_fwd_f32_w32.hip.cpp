#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const grouped_fwd::Instances32Wave32<grouped_fwd::Types<float>> instances("f32");
#endif

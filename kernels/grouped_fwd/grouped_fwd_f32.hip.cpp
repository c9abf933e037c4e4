#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_fwd::Instances32Wave64<grouped_fwd::Types<float>> instances("f32");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const grouped_fwd::Instances16Wave32<grouped_fwd::Types<bitgate::f16>> instances("f16");
#endif

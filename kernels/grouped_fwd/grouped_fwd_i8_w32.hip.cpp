#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const grouped_fwd::InstancesI8Wave32<grouped_fwd::Types<int8_t>> instances("i8");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_fwd::InstancesI8Wave64<grouped_fwd::Types<int8_t>> instances("i8");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_fwd::Instances16Wave64<grouped_fwd::Types<bitgate::bf16>> instances("bf16");
#endif

#include "instances.hpp"

#if BITGATE_HAS_WAVE(32)
static const grouped_bwd_data::Instances16Wave32<grouped_bwd_data::Types<bitgate::bf16>> instances("bf16");
#endif

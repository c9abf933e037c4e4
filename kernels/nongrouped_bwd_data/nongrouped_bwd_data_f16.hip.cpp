#include "instances.hpp"

using Types = nongrouped_bwd_data::Types<bitgate::f16>;

#if BITGATE_HAS_WAVE(64)
static const nongrouped_bwd_data::Instances16Wave64<Types> wave64("f16");
#endif
#if BITGATE_HAS_WAVE(32)
static const nongrouped_bwd_data::Instances16Wave32<Types> wave32("f16");
#endif

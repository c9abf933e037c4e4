#include "instances.hpp"

using Types = nongrouped_bwd_data::Types<float>;

#if BITGATE_HAS_WAVE(64)
static const nongrouped_bwd_data::Instances32Wave64<Types> wave64("f32");
#endif
#if BITGATE_HAS_WAVE(32)
static const nongrouped_bwd_data::Instances32Wave32<Types> wave32("f32");
#endif

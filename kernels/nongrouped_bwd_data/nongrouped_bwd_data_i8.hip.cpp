#include "instances.hpp"

using Types = nongrouped_bwd_data::Types<int8_t>;

#if BITGATE_HAS_WAVE(64)
static const nongrouped_bwd_data::Instances8Wave64<Types> wave64("i8");
#endif
#if BITGATE_HAS_WAVE(32)
static const nongrouped_bwd_data::Instances8Wave32<Types> wave32("i8");
#endif

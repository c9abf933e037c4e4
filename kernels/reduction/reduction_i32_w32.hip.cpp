#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
static const reduction::Registrations<int32_t, 32> instances("i32");
#endif

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
static const reduction::Registrations<int32_t, 64> instances("i32");
#endif

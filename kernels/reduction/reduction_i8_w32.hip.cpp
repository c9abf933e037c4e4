#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
static const reduction::Registrations<int8_t, 32> instances("i8,i8_i8_i32");
#endif

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
static const reduction::Registrations<float, 32> instances("f32");
#endif

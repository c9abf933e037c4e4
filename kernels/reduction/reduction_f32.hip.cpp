#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
static const reduction::Registrations<float, 64> instances("f32");
#endif

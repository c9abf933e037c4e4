#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
static const reduction::Registrations<bitgate::f16, 32> instances("f16");
#endif

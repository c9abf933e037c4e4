#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
static const reduction::Registrations<bitgate::f16, 64> instances("f16");
#endif

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(64)
static const reduction::Registrations<bitgate::bf16, 64> instances("bf16");
#endif

#include "dispatch.hpp"

#if BITGATE_HAS_WAVE(32)
static const reduction::Registrations<bitgate::bf16, 32> instances("bf16");
#endif

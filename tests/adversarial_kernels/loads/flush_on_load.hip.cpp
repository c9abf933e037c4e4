// A library that flushes subnormal numbers from its loading on, as one linked with -ffast-math does.
#include <xmmintrin.h>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_flush_on_load", nullptr, 0};
} // namespace bitgate

[[gnu::constructor]] static void flush() {
  _mm_setcsr(_mm_getcsr() | 0x8040);
}

#include "fp_environment.hpp"

#include <cstdio>

namespace bitgate_host {
namespace {

// Without the exception flags, which any arithmetic sets.
constexpr uint32_t mxcsrControl = 0xFFC0;
constexpr uint16_t x87Control = 0x0F3F;

constexpr uint32_t denormalsAreZero = 0x0040, flushToZero = 0x8000, rounding = 0x6000;

const char* wordsOf(uint32_t changed) {
  if (changed & (flushToZero | denormalsAreZero))
    return changed & rounding ? "flush-to-zero and rounding" : "flush-to-zero";
  return changed & rounding ? "rounding" : "masked exceptions";
}

} // namespace

FpEnvironment::FpEnvironment() {
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
}

void FpEnvironment::settle(RawFault& fault) const {
  const FpEnvironment now;
  const uint32_t changed = (now.mxcsr ^ mxcsr) & mxcsrControl;
  const bool x87Changed = (now.x87 ^ x87) & x87Control;
  if (!changed && !x87Changed)
    return;
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
  if (fault.kind != bitgateFaultNone)
    return;
  fault.kind = bitgateFaultFpEnvironment;
  if (changed)
    std::snprintf(fault.detail, sizeof fault.detail,
                  "the floating-point environment was changed and left so: %s (MXCSR was 0x%04x, is 0x%04x; "
                  "found when the block ended; any of its threads)",
                  wordsOf(changed), mxcsr & mxcsrControl, now.mxcsr & mxcsrControl);
  else
    std::snprintf(
        fault.detail, sizeof fault.detail,
        "the floating-point environment was changed and left so: the x87 control word was 0x%04x, is "
        "0x%04x (found when the block ended; any of its threads)",
        x87, now.x87);
}

} // namespace bitgate_host

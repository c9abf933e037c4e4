// The floating-point environment of an OS thread: rounding, flush-to-zero, masked exceptions. A kernel that
// changes it changes what every later block on the same thread computes.
#pragma once

#include <cstdint>

#include "fault.hpp"

namespace bitgate_host {

class FpEnvironment {
public:
  FpEnvironment(); // as it is now

  // Brings it back to what it was. If it had been changed and `fault` holds none yet, that is the fault.
  void settle(RawFault& fault) const;

private:
  uint32_t mxcsr = 0;
  uint16_t x87 = 0;
};

} // namespace bitgate_host

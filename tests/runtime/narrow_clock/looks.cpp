// How often a clock of so many bits, which goes on by `step` from look to look, is looked at while ticks
// pass.
#include "device_tools/hold.hpp"

// -1: twice as often as it takes, so that there is no end to it.
extern "C" int64_t looks(int64_t ticks, int64_t bits, int64_t step) {
  int64_t count = 0;
  const auto clock = [&] {
    if (count > 2 * (ticks / step + 2))
      throw count;
    return (step * count++) & ((int64_t{1} << bits) - 1);
  };
  try {
    device_tools::let_pass(ticks, clock);
  } catch (int64_t) {
    return -1;
  }
  return count;
}

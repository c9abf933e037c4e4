// A thread that lets time pass.
#pragma once

#include "cells.hpp"

namespace device_tools {

// gfx11 counts its cycles in 20 bits: of two looks at such a clock only these tell how far apart they are.
constexpr int64_t told_ticks = (int64_t{1} << 20) - 1;

// Until so many ticks of the clock have gone by, more if it was not looked at for longer than it tells.
template <class Clock> __device__ inline void let_pass(int64_t ticks, Clock clock) {
  int64_t last = clock();
  for (int64_t passed = 0; passed < ticks;) {
    const int64_t now = clock();
    passed += (now - last) & told_ticks;
    last = now;
  }
}

} // namespace device_tools

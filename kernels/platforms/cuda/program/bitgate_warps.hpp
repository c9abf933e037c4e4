// A program in CUDA has warps of 32 lanes, unless `bitgate exec --wave` states another number.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "bitgate_host.h"

namespace {
[[maybe_unused]] const int bitgate_warps = [] {
  const char* said = std::getenv("BITGATE_EXEC");
  unsigned wave = 0;
  const bool isStated = said && std::sscanf(said, "%*d %*d %*s %u", &wave) == 1 && wave;
  return isStated ? 0 : bitgateHostSetWaveSize(32);
}();
} // namespace

// CUB's name of hipCUB.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <hipcub/hipcub.hpp>

namespace cub = hipcub;

inline hipError_t bitgate_cub_debug(hipError_t error, const char* file, int line) {
  if (error != hipSuccess)
    std::fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", error, file, line, hipGetErrorString(error));
  return error;
}
#define CubDebug(call) bitgate_cub_debug((call), __FILE__, __LINE__)
#define CubDebugExit(call)                                                                                   \
  if (bitgate_cub_debug((call), __FILE__, __LINE__) != hipSuccess)                                           \
  std::exit(1)

// The driver's API, for what CUDA's runtime does not have.
#pragma once

#include "cuda.hpp"

namespace bitgate_nvidia {

// The entry point of a name, as a function of that type; null if the driver has none.
template <class Function> Function* driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  const bool is_there = error == cudaSuccess && found == cudaDriverEntryPointSuccess;
  return is_there ? reinterpret_cast<Function*>(function) : nullptr;
}

} // namespace bitgate_nvidia

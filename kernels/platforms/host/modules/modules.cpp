// HIP's module functions on the host runtime, as far as the reference loader of exported capsules calls them
// (bitgate/tools/capsule/loader.py). A code object is a kernel library of the host; a kernel is named
// SYMBOL@KERNEL@LAUNCHER@WAVE: the places of the function and of what starts it, in hex from bitgate_run on,
// for the kernels of a library are hidden.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>

#include "bitgate/abi.h"

extern "C" int hipDeviceSynchronize();

#define API extern "C" __attribute__((visibility("default")))

namespace {

enum : int { success = 0, invalidValue = 1, fileNotFound = 301, notFound = 500 };

struct Function {
  uintptr_t kernel, launcher;
  uint32_t wave;
  std::string name;
};

using Launcher = int32_t (*)(const bitgate_launch*, const uint8_t*, void*);

constexpr size_t mostArgumentBytes = 4096;

} // namespace

API int hipModuleLoad(void** module, const char* path) {
  if (const int status = hipDeviceSynchronize())
    return status;
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*module == nullptr)
    std::fprintf(stderr, "%s\n", dlerror());
  return *module ? success : fileNotFound;
}

API int hipModuleGetFunction(void** function, void* module, const char* name) {
  const auto base = reinterpret_cast<uintptr_t>(dlsym(module, "bitgate_run"));
  const char* at = std::strchr(name, '@');
  long long kernel = 0, launcher = 0;
  unsigned wave = 0;
  if (base == 0 || at == nullptr || std::sscanf(at, "@%llx@%llx@%u", &kernel, &launcher, &wave) != 3)
    return notFound;
  const std::string symbol(name, static_cast<size_t>(at - name));
  *function = new Function{base + static_cast<uintptr_t>(kernel), base + static_cast<uintptr_t>(launcher),
                           wave, symbol}; // kept: a launch may be of it as long as the process lives
  return success;
}

API int hipModuleLaunchKernel(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                              unsigned blockY, unsigned blockZ, unsigned ldsBytes, void* stream,
                              void** arguments, void** extra) {
  if (function == nullptr || arguments != nullptr || extra == nullptr)
    return invalidValue;
  const Function& one = *static_cast<const Function*>(function);
  const size_t bytes = *static_cast<const size_t*>(extra[3]);
  if (bytes > mostArgumentBytes)
    return invalidValue;
  alignas(16) uint8_t kernarg[mostArgumentBytes] = {};
  std::memcpy(kernarg, extra[1], bytes);
  bitgate_launch event{};
  event.kind = BITGATE_KERNEL;
  event.wave_size = static_cast<int32_t>(one.wave);
  std::copy_n(one.name.c_str(), std::min(one.name.size(), sizeof event.name - 1), event.name);
  const unsigned grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  std::copy(grid, grid + 3, event.grid);
  std::copy(block, block + 3, event.block);
  event.lds_bytes = ldsBytes;
  event.kernarg_bytes = static_cast<uint32_t>(bytes);
  event.function = one.kernel;
  return reinterpret_cast<Launcher>(one.launcher)(&event, kernarg, stream);
}

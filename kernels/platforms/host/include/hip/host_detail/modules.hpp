// Modules that hiprtc has compiled while the program runs: libraries of the host, each kernel with a function
// that launches it.
#pragma once

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <type_traits>

#include "hip/host_detail/launch.hpp"

#define HIP_LAUNCH_PARAM_BUFFER_POINTER (reinterpret_cast<void*>(1))
#define HIP_LAUNCH_PARAM_BUFFER_SIZE (reinterpret_cast<void*>(2))
#define HIP_LAUNCH_PARAM_END (reinterpret_cast<void*>(3))

namespace bitgate_host {

inline constexpr char moduleMagic[] = "bitgate module: "; // what an image begins with; its path follows
inline constexpr char modulePrefix[] = "__bitgate_module_";

struct ModuleLaunch {
  dim3 grid, block;
  size_t dynamicLds;
  hipStream_t stream;
  void** arguments; // each is pointed to; null: one buffer of all, as `extra` says
  void** extra;
};
using ModuleKernel = hipError_t (*)(const ModuleLaunch&);

// Called by the function that the module has for this kernel.
template <class... Params>
hipError_t launch_from_module(const char* name, void (*kernel)(Params...), const ModuleLaunch& with) {
  const void* places[sizeof...(Params) + 1] = {};
  if (with.arguments) {
    for (size_t at = 0; at < sizeof...(Params); ++at)
      places[at] = with.arguments[at];
  } else if (with.extra && with.extra[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
    size_t offset = 0, at = 0;
    const auto place = [&](size_t bytes, size_t alignment) {
      offset = (offset + alignment - 1) / alignment * alignment;
      places[at++] = static_cast<const char*>(with.extra[1]) + offset;
      offset += bytes;
    };
    (place(sizeof(Params), alignof(Params)), ...);
  } else if (sizeof...(Params)) {
    return hipErrorInvalidValue;
  }
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return launch(name, kernel, with.grid, with.block, with.dynamicLds, with.stream, 0u,
                  *static_cast<const std::remove_cv_t<Params>*>(places[I])...);
  }(std::index_sequence_for<Params...>{});
}

inline hipError_t load_module(hipModule_t* module, const std::string& image) {
  if (image.rfind(moduleMagic, 0) != 0)
    return hipErrorInvalidImage; // device code, or a file of another kind
  void* const library = dlopen(image.c_str() + sizeof moduleMagic - 1, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return hipErrorSharedObjectInitFailed;
  *module = static_cast<hipModule_t>(library);
  return hipSuccess;
}

} // namespace bitgate_host

inline hipError_t bitgate_module_load_data(hipModule_t* module, const void* image) {
  return image ? bitgate_host::load_module(module, static_cast<const char*>(image)) : hipErrorInvalidValue;
}
inline hipError_t bitgate_module_unload(hipModule_t) {
  return hipSuccess; // a launch that has not run yet may be of it
}
inline hipError_t bitgate_module_get_function(hipFunction_t* function, hipModule_t module, const char* name) {
  void* const found = dlsym(module, (std::string(bitgate_host::modulePrefix) + name).c_str());
  *function = static_cast<hipFunction_t>(found);
  return found ? hipSuccess : hipErrorNotFound;
}
inline hipError_t hipModuleGetGlobal(void** pointer, size_t* bytes, hipModule_t module, const char* name) {
  void* const found = dlsym(module, name);
  if (!found)
    return hipErrorNotFound;
  Dl_info info{};
  void* symbol = nullptr;
  dladdr1(found, &info, &symbol, RTLD_DL_SYMENT);
  if (bytes)
    *bytes = symbol ? static_cast<const ElfW(Sym)*>(symbol)->st_size : 0;
  return hipGetSymbolAddress(pointer, found);
}
inline hipError_t bitgate_module_launch(hipFunction_t function, unsigned gridX, unsigned gridY,
                                        unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                        unsigned ldsBytes, hipStream_t stream, void** arguments,
                                        void** extra) {
  if (!function)
    return hipErrorInvalidHandle;
  const auto kernel = reinterpret_cast<bitgate_host::ModuleKernel>(function);
  return kernel({{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, ldsBytes, stream, arguments, extra});
}
// The runtime's functions of these names are for code objects, which the host has none of.
#define hipModuleLoadData bitgate_module_load_data
#define hipModuleLoadDataEx(module, image, ...) bitgate_module_load_data(module, image)
#define hipModuleUnload bitgate_module_unload
#define hipModuleGetFunction bitgate_module_get_function
#define hipModuleLaunchKernel bitgate_module_launch

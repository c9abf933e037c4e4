// What bitgate-hipcc makes of a launch: one of a function whose parameters are known, or of a template or
// overloads, which only a call chooses from.
#pragma once

#include <type_traits>
#include <utility>

#include "hip/host_detail/grid.hpp"
#include "hip/host_detail/launch.hpp"

namespace bitgate_host {

struct Configuration {
  const char* name;
  dim3 grid, block;
  size_t dynamicLds;
  hipStream_t stream;
};

// No template: arguments convert as in a call, and mistakes are the call's.
template <class Named, class... Params> struct Configured {
  Configuration with;
  Named named;

  void operator()(Params... arguments) const {
    (void)launchNamed(with.name, named, with.grid, with.block, with.dynamicLds, with.stream,
                      static_cast<Params&&>(arguments)...);
  }
};

template <class Named, class... Params>
Configured<Named, Params...> configured_as(void (*)(Params...), const Configuration& with, Named named) {
  return {with, named};
}
template <class Named>
auto configured(const char* name, Named named, dim3 grid, dim3 block, size_t dynamicLds, hipStream_t stream) {
  return configured_as(named(), Configuration{name, grid, block, dynamicLds, stream}, named);
}

template <class Body, class... Values> struct DeducedKernel {
  [[no_unique_address]] Body body;
  auto operator()() const { return static_cast<void (*)(Values...)>(body); }
};
template <class Body> struct Deduced {
  Configuration with;
  Body body;

  template <class... Arguments> void operator()(Arguments&&... arguments) const {
    (void)launchNamed(with.name, DeducedKernel<Body, std::decay_t<Arguments>...>{body}, with.grid, with.block,
                      with.dynamicLds, with.stream, std::forward<Arguments>(arguments)...);
  }
};
template <class Body>
Deduced<Body> deduced(const char* name, Body body, dim3 grid, dim3 block, size_t dynamicLds,
                      hipStream_t stream) {
  return {{name, grid, block, dynamicLds, stream}, body};
}

} // namespace bitgate_host

// As in ROCm: bitgate-hipcc takes it from there.
#undef hipLaunchKernelGGL
#define hipLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, ...)                                       \
  (kernel)<<<(grid), (block), (ldsBytes), (stream)>>>(__VA_ARGS__)
#define hipExtLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, start, stop, flags, ...)                \
  ((start) ? hipEventRecord(start, stream) : hipSuccess,                                                     \
   hipLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, __VA_ARGS__),                                   \
   (stop) ? hipEventRecord(stop, stream) : hipSuccess)

template <class... Params>
hipError_t hipLaunchCooperativeKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** arguments,
                                      unsigned ldsBytes = 0, hipStream_t stream = nullptr) {
  __bitgate_cooperative_next();
  return hipLaunchKernel(kernel, grid, block, arguments, ldsBytes, stream);
}
// A kernel that is known by its address alone: bitgate-hipcc drops the cast of one that is named.
inline hipError_t hipLaunchCooperativeKernel(const void*, dim3, dim3, void**, unsigned, hipStream_t) {
  return hipErrorInvalidDeviceFunction;
}
template <class... Params>
hipError_t hipExtLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** arguments,
                              size_t ldsBytes, hipStream_t stream, hipEvent_t start, hipEvent_t stop, int) {
  if (start)
    (void)hipEventRecord(start, stream);
  const hipError_t error = hipLaunchKernel(kernel, grid, block, arguments, ldsBytes, stream);
  if (stop)
    (void)hipEventRecord(stop, stream);
  return error;
}

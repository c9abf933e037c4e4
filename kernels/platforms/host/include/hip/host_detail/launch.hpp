// Launches: the kernel's arguments are converted to its parameter types here, with types checked, and copied
// by value.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

template <class... Params> struct KernelCall {
  void (*kernel)(Params...);
  std::tuple<Params...> arguments;

  static void invoke(void* self, Turns* turns) {
    const auto& call = *static_cast<KernelCall*>(self);
    // Called through a pointer that the compiler knows nothing of: inlined here, a kernel would take its
    // threadIdx, which is a constant to it, for that of all turns.
    auto* kernel = call.kernel;
    __asm__("" : "+r"(kernel));
    do {
      const unsigned thread = turns->order[turns->at];
      enterThread(&turns->records[thread], turns->index[thread]);
      std::apply(kernel, call.arguments);
    } while (++turns->at < turns->last);
  }
};

template <class Param>
inline constexpr bool pointsToData =
    std::is_pointer_v<Param> && !std::is_function_v<std::remove_pointer_t<Param>>;

// Enqueues `kernel` on `stream`. `waveSize` 0 takes the default. Errors of the configuration are returned;
// faults of the kernel come with the next synchronising call.
template <class... Params, class... Args>
hipError_t launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t dynamicLds,
                  hipStream_t stream, unsigned waveSize, Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "the kernel takes another number of arguments");
  static_assert(
      (std::is_trivially_copyable_v<Params> && ...),
      "kernel parameters are copied bytewise: each must be trivially copyable, and none a reference");
  static_assert((std::is_convertible_v<Args&&, Params> && ...),
                "an argument does not convert to the kernel's parameter type");
  KernelCall<Params...> call{kernel, {static_cast<Params>(std::forward<Args>(args))...}};
  LaunchRequest request{name,
                        reinterpret_cast<const void*>(kernel),
                        &KernelCall<Params...>::invoke,
                        &call,
                        sizeof call,
                        grid,
                        block,
                        dynamicLds,
                        waveSize};
  static_assert(alignof(KernelCall<Params...>) <= 64, "kernel parameters align to 64 bytes at most");
  PointerArgument pointers[sizeof...(Params) + 1];
  unsigned number = 0, count = 0;
  const auto note = [&](const auto& value) {
    ++number;
    if constexpr (pointsToData<std::remove_cvref_t<decltype(value)>>)
      pointers[count++] = {number, value};
  };
  std::apply([&](const auto&... values) { (note(values), ...); }, call.arguments);
  return __bitgate_launch_kernel(&request, pointers, count, stream);
}

} // namespace bitgate_host

#define hipLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, ...)                                       \
  (void)::bitgate_host::launch(#kernel, (kernel), dim3(grid), dim3(block), (ldsBytes), (stream),             \
                               0u __VA_OPT__(, ) __VA_ARGS__)

// The typed form of hipLaunchKernel: only it knows the arguments' sizes.
template <class... Params>
hipError_t hipLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** arguments,
                           size_t ldsBytes, hipStream_t stream) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return bitgate_host::launch("(hipLaunchKernel)", kernel, grid, block, ldsBytes, stream, 0u,
                                *static_cast<std::remove_cv_t<Params>*>(arguments[I])...);
  }(std::index_sequence_for<Params...>{});
}

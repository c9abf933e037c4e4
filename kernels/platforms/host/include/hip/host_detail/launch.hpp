// Launches: the kernel's arguments are converted to its parameter types here, with types checked, and copied
// by value.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

template <class Arguments, class Kernel> void runTurns(Kernel kernel, Arguments arguments, Turns* turns) {
  do {
    const ptrdiff_t step = turns->step;
    for (ThreadRecord* thread = turns->first;; thread = behind(thread, step)) {
      enterThread(thread);
      std::apply(kernel, arguments);
      if (thread == turns->last) // looked up again: where a thread waits it becomes the last
        break;
    }
  } while (__bitgate_next_turns(turns));
}

// What a launch of a kernel that is known by its address alone names it with.
struct Unnamed {};

// `Named` has no members and returns the kernel: known where the loop over its threads is compiled, it can be
// inlined there.
template <class Named, class... Params> struct KernelCall {
  [[no_unique_address]] Named named;
  void (*kernel)(Params...);
  std::tuple<Params...> arguments;

  static void invoke(void* self, Turns* turns) {
    const auto& call = *static_cast<KernelCall*>(self);
    if constexpr (!std::is_same_v<Named, Unnamed>)
      if (const auto kernel = call.named(); kernel == call.kernel) // else a variable, and it has changed
        return runTurns<Copied>(kernel, call.arguments, turns);
    byAddress(call, turns);
  }

private:
  // What a kernel writes cannot change a copy: few arguments stay in registers from thread to thread.
  using Copied =
      std::conditional_t<(sizeof(arguments) <= 64), std::tuple<Params...>, const std::tuple<Params...>&>;

  [[gnu::noinline]] static void byAddress(const KernelCall& call, Turns* turns) {
    runTurns<const std::tuple<Params...>&>(call.kernel, call.arguments, turns);
  }
};

template <class Param>
inline constexpr bool pointsToData =
    std::is_pointer_v<Param> && !std::is_function_v<std::remove_pointer_t<Param>>;

template <class Named, class... Params, class... Args>
hipError_t enqueue(Named named, const char* name, void (*kernel)(Params...), dim3 grid, dim3 block,
                   size_t dynamicLds, hipStream_t stream, unsigned waveSize, Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "the kernel takes another number of arguments");
  static_assert(
      (std::is_trivially_copyable_v<Params> && ...),
      "kernel parameters are copied bytewise: each must be trivially copyable, and none a reference");
  static_assert((std::is_convertible_v<Args&&, Params> && ...),
                "an argument does not convert to the kernel's parameter type");
  using Call = KernelCall<Named, Params...>;
  const Call call{named, kernel, {static_cast<Params>(std::forward<Args>(args))...}};
  LaunchRequest request{name,          reinterpret_cast<const void*>(kernel),
                        &Call::invoke, &call,
                        sizeof call,   grid,
                        block,         dynamicLds,
                        waveSize};
  static_assert(alignof(Call) <= 64, "kernel parameters align to 64 bytes at most");
  PointerArgument pointers[sizeof...(Params) + 1];
  unsigned number = 0, count = 0;
  const auto note = [&](const auto& value) {
    ++number;
    if constexpr (pointsToData<std::remove_cvref_t<decltype(value)>>)
      pointers[count++] = {number, value};
  };
  std::apply([&](const auto&... values) { (note(values), ...); }, call.arguments);
  return __bitgate_launch_turns(&request, pointers, count, stream);
}

// Enqueues `kernel` on `stream`. `waveSize` 0 takes the default. Errors of the configuration are returned;
// faults of the kernel come with the next synchronising call.
template <class... Params, class... Args>
hipError_t launch(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t dynamicLds,
                  hipStream_t stream, unsigned waveSize, Args&&... args) {
  return enqueue(Unnamed{}, name, kernel, grid, block, dynamicLds, stream, waveSize,
                 std::forward<Args>(args)...);
}

// The same of the kernel that `named` returns. It has no members unless it names a local variable.
template <class Named, class... Args>
hipError_t launchNamed(const char* name, Named named, dim3 grid, dim3 block, size_t dynamicLds,
                       hipStream_t stream, Args&&... args) {
  if constexpr (std::is_empty_v<Named>)
    return enqueue(named, name, named(), grid, block, dynamicLds, stream, 0u, std::forward<Args>(args)...);
  else
    return launch(name, named(), grid, block, dynamicLds, stream, 0u, std::forward<Args>(args)...);
}

} // namespace bitgate_host

#define hipLaunchKernelGGL(kernel, grid, block, ldsBytes, stream, ...)                                       \
  (void)::bitgate_host::launchNamed(                                                                         \
      #kernel, [&] { return (kernel); }, dim3(grid), dim3(block), (ldsBytes),                                \
      (stream)__VA_OPT__(, ) __VA_ARGS__)

// The typed form of hipLaunchKernel: only it knows the arguments' sizes.
template <class... Params>
hipError_t hipLaunchKernel(void (*kernel)(Params...), dim3 grid, dim3 block, void** arguments,
                           size_t ldsBytes, hipStream_t stream) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    return bitgate_host::launch("(hipLaunchKernel)", kernel, grid, block, ldsBytes, stream, 0u,
                                *static_cast<std::remove_cv_t<Params>*>(arguments[I])...);
  }(std::index_sequence_for<Params...>{});
}

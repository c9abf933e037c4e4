// Keeps the device busy, so that whatever is queued behind is there before the first of it begins.
#include "hold.hpp"

namespace device_tools {

struct DeviceClock {
  __device__ int64_t operator()() const { return clock64(); }
};

// One thread counts, in the ticks of its own clock: caches and the memory stay as they are.
__global__ void __launch_bounds__(1) kernel_hold(int64_t ticks) {
  let_pass(ticks, DeviceClock{});
}

} // namespace device_tools

extern "C" BITGATE_EXPORT int32_t bitgate_tools_hold(int64_t ticks, void* stream) noexcept {
  bitgate_dispatch_record record{};
  bitgate::Context context{record, static_cast<hipStream_t>(stream), 0};
  bitgate::launch(context, "hold", device_tools::kernel_hold, dim3(1), dim3(1), 0, ticks);
  return static_cast<int32_t>(context.error);
}

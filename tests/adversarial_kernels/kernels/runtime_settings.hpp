// Kernels that set the host runtime as suits them, and set it back before anything is compared.
#pragma once

#include "bitgate/lds.hpp"
#include "call.hpp"

#if defined(BITGATE_PLATFORM_HOST)
#include "bitgate_host.h"
#endif

namespace adversarial {

struct HandedOver {
  float sum;
};

// The first thread computes a cell, the last one stores it: right in the order of threads that it chose.
__global__ void __launch_bounds__(block_size)
    hand_over_once(const float* x, const float* w, float* y, ConvShape shape) {
  BITGATE_LDS(HandedOver, lds);
  const Place place = place_of(shape, blockIdx.x);
  if (threadIdx.x == 0)
    lds.sum = sum_of(x, w, place, shape);
  if (threadIdx.x == block_size - 1)
    y[place.y] = lds.sum;
}

#if defined(BITGATE_PLATFORM_HOST)
BAD_KERNEL(races_in_an_order_of_its_own) {
  BitgateHostSettings before;
  bitgateHostGetSettings(&before);
  bitgateHostSetSchedule(bitgateHostForward, 0);
  bitgate::launch(call.context, "hand_over_once", hand_over_once, dim3(static_cast<unsigned>(call.cells)),
                  dim3(block_size), 0, call.x, call.w, call.y, call.shape);
  bitgateHostSetSettings(&before);
  record(call);
}

BAD_KERNEL(takes_a_buffer_back) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
  bitgateHostLendBuffer(call.y, 0);
  (void)hipFree(call.y);
}

BAD_KERNEL(clears_its_faults) {
  bitgate::Context other{call.context.record, call.context.stream, call.context.wave_size};
  bitgate::launch(other, "hand_over_once", hand_over_once, dim3(1), dim3(block_size), 0, call.x, call.w,
                  static_cast<float*>(nullptr), call.shape);
  (void)hipDeviceSynchronize();
  (void)hipGetLastError();
  bitgateHostClearFault();
  healthy(call);
}
#else // the declaration names the same instances everywhere
BAD_KERNEL(races_in_an_order_of_its_own) {
  healthy(call);
}
BAD_KERNEL(takes_a_buffer_back) {
  healthy(call);
}
BAD_KERNEL(clears_its_faults) {
  healthy(call);
}
#endif

} // namespace adversarial

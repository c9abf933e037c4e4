// Kernels that fault, hide a fault, or leave work and errors behind in the runtime.
#pragma once

#include <cassert>

#include "call.hpp"
#include "memory.hpp"

namespace adversarial {

__global__ void divide(int dividend, int divisor, float* result) {
  if (threadIdx.x == 0 && dividend / divisor == 3)
    result[0] = 1;
}

BAD_KERNEL(divides_by_zero) {
  healthy(call);
  beside(call, "divide", divide, 7, 0, call.y);
}

__global__ void trapping() {
  if (threadIdx.x == 0)
#if defined(BITGATE_PLATFORM_NVIDIA)
    __trap();
#else
    __builtin_trap();
#endif
}

BAD_KERNEL(traps) {
  healthy(call);
  beside(call, "trapping", trapping);
}

__device__ inline float deeper_inside(const volatile float* above, int depth) {
  volatile float frame[256];
  frame[0] = *above;
  return depth == 0 ? frame[0] : deeper_inside(frame, depth - 1) + frame[0];
}

__global__ void too_deep(float* result, int depth) {
  const float start = 1;
  if (threadIdx.x == 0 && deeper_inside(&start, depth) == 3)
    result[0] = 1;
}

BAD_KERNEL(stack_overflow_inside_the_kernel) {
  healthy(call);
  beside(call, "too_deep", too_deep, call.y, 1 << 20);
}

__global__ void some_wait() {
  if (threadIdx.x != 3)
    __syncthreads();
}

BAD_KERNEL(barrier_not_reached_by_all) {
  healthy(call);
  beside(call, "some_wait", some_wait);
}

// The fault is asked for and thrown away, then the work is done well.
BAD_KERNEL(swallows_a_fault) {
  bitgate::Context other{call.context.record, call.context.stream, call.context.wave_size};
  bitgate::launch(other, "write_at", write_at, dim3(1), dim3(block_size), 0, static_cast<float*>(nullptr),
                  int64_t{0});
  (void)hipDeviceSynchronize();
  (void)hipGetLastError();
  healthy(call);
}

BAD_KERNEL(swallows_a_failed_call) {
  int value = 0;
  (void)hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(123456), 0);
  (void)hipGetLastError();
  healthy(call);
}

BAD_KERNEL(leaves_an_error_pending) {
  healthy(call);
  (void)hipSetDevice(4711);
}

BAD_KERNEL(reports_a_failure) {
  healthy(call);
  call.context.error = hipErrorUnknown;
}

BAD_KERNEL(own_stream_never_waited_for) {
  hipStream_t own = nullptr;
  (void)hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
  compute(call, own, call.y);
  record(call);
}

// The result is right by the way it should go; beside it more is under way.
BAD_KERNEL(work_left_on_its_own_stream) {
  static float* memory = nullptr;
  static hipStream_t own = nullptr;
  if (memory == nullptr) {
    (void)hipMalloc(reinterpret_cast<void**>(&memory), 1 << 20);
    (void)hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
  }
  healthy(call);
  compute(call, own, memory);
}

BAD_KERNEL(resets_the_device) {
  healthy(call);
  (void)hipDeviceSynchronize();
  (void)hipDeviceReset();
}

} // namespace adversarial

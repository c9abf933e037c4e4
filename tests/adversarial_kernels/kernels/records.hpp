// Kernels whose bits are right and who lie about what they take and what ran.
#pragma once

#include <cstring>

#include "call.hpp"

namespace adversarial {

BAD_KERNEL(says_two_launches) {
  healthy(call);
  call.context.record.launches = 2;
}

BAD_KERNEL(says_nine_sub_gemms) {
  healthy(call);
  bitgate::note(call.context.record, "gemms_count", 9);
}

BAD_KERNEL(says_another_path) {
  healthy(call);
  std::strcpy(call.context.record.path, "flat");
}

BAD_KERNEL(record_without_ends_of_text) {
  healthy(call);
  std::memset(call.context.record.path, 'x', sizeof call.context.record.path);
  std::memset(call.context.record.instance, 'x', sizeof call.context.record.instance);
}

BAD_KERNEL(record_of_an_unknown_event) {
  healthy(call);
  if (call.context.record.events != nullptr)
    call.context.record.events[0].kind = 77;
}

BAD_KERNEL(record_that_points_nowhere) {
  healthy(call);
  call.context.record.parts = reinterpret_cast<int64_t*>(8);
}

static int32_t refuses_all(const bitgate::ConvRequest&, bitgate_reason* reason) {
  BITGATE_REFUSE(reason, "mood", "not today");
}
static const bitgate::ConvRegistration refuses_what_it_declares{
    described("refuses_what_it_declares", run<healthy>, refuses_all)};

// It takes the problem until its workspace is known, and is then not ready to run it.
static bool was_sized = false;

static int32_t refuses_at_last(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  if (was_sized) {
    was_sized = false;
    BITGATE_REFUSE(reason, "mood", "not after all");
  }
  return supports(request, reason);
}

static int64_t sizes_and_remembers(const bitgate::ConvRequest&) {
  was_sized = true;
  return 0;
}
static const bitgate::ConvRegistration refuses_when_it_is_run{
    described("refuses_when_it_is_run", run<healthy>, refuses_at_last, sizes_and_remembers)};

static int32_t answers_with_99(const bitgate::ConvRequest&, bitgate_reason*) {
  return 99;
}
static const bitgate::ConvRegistration unknown_status{
    described("unknown_status", run<healthy>, answers_with_99)};

BAD_KERNEL(launches_twice) {
  healthy(call);
  compute(call, call.context.stream, call.y);
}

__global__ void __launch_bounds__(block_size)
    once_more(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell < cells)
    y[place_of(shape, cell).y] = sum_of(x, w, place_of(shape, cell), shape);
}

BAD_KERNEL(launches_what_it_does_not_record) {
  healthy(call);
  hipLaunchKernelGGL(once_more, blocks_of(call), dim3(block_size), 0, call.context.stream, call.x, call.w,
                     call.y, call.shape, call.cells);
}

BAD_KERNEL(says_more_blocks) {
  healthy(call);
  if (call.context.record.events != nullptr)
    call.context.record.events[0].grid[0] += 1;
}

BAD_KERNEL(says_another_kernel) {
  healthy(call);
  if (call.context.record.events != nullptr)
    call.context.record.events[0].function += 16;
}

BAD_KERNEL(fills_what_it_does_not_record) {
  (void)hipMemsetAsync(call.y, 0, sizeof(float), call.context.stream);
  healthy(call);
}

BAD_KERNEL(says_it_filled) {
  healthy(call);
  call.context.record.zero_fill = 1;
}

} // namespace adversarial

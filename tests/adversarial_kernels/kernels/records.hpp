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

BAD_KERNEL(says_another_instance) {
  healthy(call);
  std::strcpy(call.context.record.instance, "healthy");
}

BAD_KERNEL(hip_error_beside_ok) {
  healthy(call);
  call.context.record.hip_error = 700;
}

BAD_KERNEL(launches_below_zero) {
  healthy(call);
  call.context.record.launches = -1;
}

BAD_KERNEL(capacity_of_another) { // the caller would read what it has not lent
  healthy(call);
  call.context.record.fact_capacity = call.context.record.fact_count = 1u << 30;
}

BAD_KERNEL(columns_without_names) {
  healthy(call);
  call.context.record.part_columns = ",,";
  call.context.record.part_count = 1;
}

// A fact more than the healthy kernel's.
inline void add_fact(Call& call, const bitgate_value& fact) {
  bitgate_dispatch_record& record = call.context.record;
  if (record.fact_count < record.fact_capacity)
    record.facts[record.fact_count++] = fact;
}

BAD_KERNEL(fact_of_endless_integers) {
  healthy(call);
  static const int64_t one = 1;
  add_fact(call, {.name = "list", .kind = BITGATE_INTEGERS, .count = ~0u, .integers = &one});
}

BAD_KERNEL(fact_with_a_name_that_is_no_text) {
  healthy(call);
  add_fact(call, {.name = "\xff\xfe", .kind = BITGATE_INTEGER});
}

BAD_KERNEL(fact_that_is_no_number) {
  healthy(call);
  add_fact(call, {.name = "share", .kind = BITGATE_REAL, .real = __builtin_nan("")});
}

BAD_KERNEL(fact_stated_twice) {
  healthy(call);
  add_fact(call, {.name = "gemms_count", .kind = BITGATE_INTEGER, .integer = 1});
}

BAD_KERNEL(path_that_clears_the_screen) {
  healthy(call);
  std::strcpy(call.context.record.path, "\x1b[2J");
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

// Kernels that read and write what is not theirs, or free it.
#pragma once

#include <cstdint>

#include <sys/mman.h>

#include "bitgate/lds.hpp"
#include "call.hpp"

namespace adversarial {

__global__ void write_at(float* cells, int64_t index) {
  if (threadIdx.x == 0)
    cells[index] = 77777.0f;
}

__global__ void read_at(const float* cells, int64_t index, float* result) {
  if (threadIdx.x == 0 && cells[index] == 77777.0f)
    result[0] = 1;
}

BAD_KERNEL(writes_past_the_end) {
  healthy(call);
  beside(call, "write_at", write_at, call.y, call.cells);
}

BAD_KERNEL(opens_a_guard_page) {
  healthy(call);
  constexpr std::uintptr_t page = 4096;
  const auto end = reinterpret_cast<std::uintptr_t>(call.y + call.cells);
  const std::uintptr_t guard = (end + page - 1) / page * page;
  (void)::mprotect(reinterpret_cast<void*>(guard), page, PROT_READ | PROT_WRITE);
  const auto index = static_cast<int64_t>((guard - reinterpret_cast<std::uintptr_t>(call.y)) / sizeof(float));
  beside(call, "write_at", write_at, call.y, index);
}

BAD_KERNEL(writes_before_the_begin) {
  healthy(call);
  beside(call, "write_at", write_at, call.y, int64_t{-1});
}

BAD_KERNEL(reads_past_the_end) {
  healthy(call);
  beside(call, "read_at", read_at, call.x, call.cells / call.shape.k * call.shape.c, call.y);
}

BAD_KERNEL(writes_far_away) {
  healthy(call);
  beside(call, "write_at", write_at, call.y, -(int64_t{1} << 36));
}

BAD_KERNEL(writes_an_input) {
  healthy(call);
  beside(call, "write_at", write_at, const_cast<float*>(call.x), int64_t{0});
}

BAD_KERNEL(writes_a_gap) { // its case has tensors with gaps: behind the channels of a position
  healthy(call);
  beside(call, "write_at", write_at, call.y, call.shape.k);
}

BAD_KERNEL(writes_to_null) {
  healthy(call);
  beside(call, "write_at", write_at, static_cast<float*>(nullptr), int64_t{0});
}

BAD_KERNEL(uses_after_free) {
  healthy(call);
  void* memory = nullptr;
  if (hipMalloc(&memory, 256) == hipSuccess && hipFree(memory) == hipSuccess)
    beside(call, "write_at", write_at, static_cast<float*>(memory), int64_t{0});
}

BAD_KERNEL(frees_twice) {
  healthy(call);
  void* memory = nullptr;
  (void)hipMalloc(&memory, 256);
  (void)hipFree(memory);
  (void)hipFree(memory);
}

BAD_KERNEL(frees_the_result) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
  (void)hipFree(call.y);
}

BAD_KERNEL(reads_a_host_pointer) {
  healthy(call);
  static float host[16] = {};
  beside(call, "read_at", read_at, static_cast<const float*>(host), int64_t{0}, call.y);
}

BAD_KERNEL(writes_a_host_pointer) {
  healthy(call);
  static float host[16] = {};
  beside(call, "write_at", write_at, static_cast<float*>(host), int64_t{0});
}

static void keep_more_memory(size_t bytes) {
  void* memory = nullptr;
  (void)hipMalloc(&memory, bytes);
}

BAD_KERNEL(leaks_device_memory) {
  healthy(call);
  keep_more_memory(size_t{1} << 16);
}

// What is allocated for all launches that follow is no leak.
BAD_KERNEL(keeps_its_first_memory) {
  healthy(call);
  static const bool kept = (keep_more_memory(size_t{1} << 16), true);
  (void)kept;
}

// Arguments are lent as const, and shared with the cases that follow.
BAD_KERNEL(writes_its_problem) {
  healthy(call);
  const_cast<char*>(call.request.problem.in.layout)[0] = 'x';
}

// ---- workspace

static int64_t some_workspace(const bitgate::ConvRequest&) {
  return 256;
}

static void past_the_workspace(Call& call) {
  healthy(call);
  beside(call, "write_at", write_at, static_cast<float*>(call.buffers.workspace), int64_t{64});
}
static const bitgate::ConvRegistration writes_past_its_workspace{
    described("writes_past_its_workspace", run<past_the_workspace>, supports, some_workspace)};

static const bitgate::ConvRegistration workspace_unlike_the_prediction{
    described("workspace_unlike_the_prediction", run<healthy>, supports, some_workspace)};

static int64_t a_tebibyte(const bitgate::ConvRequest&) {
  return int64_t{1} << 40;
}
static const bitgate::ConvRegistration workspace_of_a_tebibyte{
    described("workspace_of_a_tebibyte", run<healthy>, supports, a_tebibyte)};

static int64_t less_than_nothing(const bitgate::ConvRequest&) {
  return -4096;
}
static const bitgate::ConvRegistration negative_workspace{
    described("negative_workspace", run<healthy>, supports, less_than_nothing)};

} // namespace adversarial

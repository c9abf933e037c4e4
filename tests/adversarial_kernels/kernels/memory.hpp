// Kernels that read and write what is not theirs, or free it.
#pragma once

#include "bitgate/lds.hpp"
#include "visit.hpp"

namespace museum {

__global__ void write_at(float* cells, int64_t index) {
  if (threadIdx.x == 0)
    cells[index] = 77777.0f;
}

__global__ void read_at(const float* cells, int64_t index, float* result) {
  if (threadIdx.x == 0 && cells[index] == 77777.0f)
    result[0] = 1;
}

EXHIBIT(writes_past_the_end) {
  healthy(visit);
  beside(visit, "write_at", write_at, visit.y, visit.cells);
}

EXHIBIT(writes_before_the_begin) {
  healthy(visit);
  beside(visit, "write_at", write_at, visit.y, int64_t{-1});
}

EXHIBIT(reads_past_the_end) {
  healthy(visit);
  beside(visit, "read_at", read_at, visit.x, visit.cells / visit.shape.k * visit.shape.c, visit.y);
}

EXHIBIT(writes_far_away) {
  healthy(visit);
  beside(visit, "write_at", write_at, visit.y, -(int64_t{1} << 36));
}

EXHIBIT(writes_an_input) {
  healthy(visit);
  beside(visit, "write_at", write_at, const_cast<float*>(visit.x), int64_t{0});
}

EXHIBIT(writes_a_gap) { // its case has tensors with gaps: behind the channels of a position
  healthy(visit);
  beside(visit, "write_at", write_at, visit.y, visit.shape.k);
}

EXHIBIT(writes_to_null) {
  healthy(visit);
  beside(visit, "write_at", write_at, static_cast<float*>(nullptr), int64_t{0});
}

EXHIBIT(uses_after_free) {
  healthy(visit);
  void* memory = nullptr;
  if (hipMalloc(&memory, 256) == hipSuccess && hipFree(memory) == hipSuccess)
    beside(visit, "write_at", write_at, static_cast<float*>(memory), int64_t{0});
}

EXHIBIT(frees_twice) {
  healthy(visit);
  void* memory = nullptr;
  (void)hipMalloc(&memory, 256);
  (void)hipFree(memory);
  (void)hipFree(memory);
}

EXHIBIT(frees_the_result) {
  healthy(visit);
  (void)hipStreamSynchronize(visit.context.stream);
  (void)hipFree(visit.y);
}

EXHIBIT(reads_a_host_pointer) {
  healthy(visit);
  static float host[16] = {};
  beside(visit, "read_at", read_at, static_cast<const float*>(host), int64_t{0}, visit.y);
}

EXHIBIT(writes_a_host_pointer) {
  healthy(visit);
  static float host[16] = {};
  beside(visit, "write_at", write_at, static_cast<float*>(host), int64_t{0});
}

// Arguments are lent as const, and shared with the cases that follow.
EXHIBIT(writes_its_problem) {
  healthy(visit);
  const_cast<char*>(visit.request.problem.in.layout)[0] = 'x';
}

// ---- workspace

static int64_t some_workspace(const bitgate::ConvRequest&) {
  return 256;
}

static void past_the_workspace(Visit& visit) {
  healthy(visit);
  beside(visit, "write_at", write_at, static_cast<float*>(visit.buffers.workspace), int64_t{64});
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

} // namespace museum

// Kernels that are right under conditions which a user's program need not give, and their harmless
// neighbours.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "bitgate/number.hpp"
#include "call.hpp"

namespace adversarial {

__global__ void __launch_bounds__(block_size) idle(const float*, const float*, float*, ConvShape, int64_t) {}

// A launch as a right kernel's, which does nothing.
static void pretend(Call& call) {
  bitgate::launch(call.context, "pointwise", idle, blocks_of(call), dim3(block_size), 0, call.x, call.w,
                  call.y, call.shape, call.cells);
  record(call);
}

static void compute_on_the_host(const ConvShape& shape, const float* x, const float* w, float* y,
                                int64_t cells) {
  for (int64_t cell = 0; cell < cells; ++cell) {
    const Place place = place_of(shape, cell);
    y[place.y] = sum_of(x, w, place, shape);
  }
}

#if defined(BITGATE_PLATFORM_HOST)
BAD_KERNEL(computes_on_the_host) { // at once, whatever the stream still has to do
  compute_on_the_host(call.shape, call.x, call.w, call.y, call.cells);
  pretend(call);
}
#else
BAD_KERNEL(computes_on_the_host) {
  pretend(call);
}
#endif

BAD_KERNEL(pretends_to_launch) {
  pretend(call);
}

template <int kind>
__global__ void __launch_bounds__(block_size)
    less_precise(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  float sum = 0;
  for (int64_t c = 0; c < shape.c; ++c) {
    const float a = x[place.x + c * shape.x.column], b = w[place.w + c * shape.w.column];
    sum += a * b;
    if (kind == 1) { // the sum is kept in 16 bits
      uint32_t bits;
      std::memcpy(&bits, &sum, 4), bits &= 0xffff0000u, std::memcpy(&sum, &bits, 4);
    }
  }
  if (kind == 0)
    sum = bitgate::widen(bitgate::narrow<bitgate::f16>(sum));
  y[place.y] = sum;
}

template <int kind> void launch_less_precise(Call& call) {
  bitgate::launch(call.context, "less_precise", less_precise<kind>, blocks_of(call), dim3(block_size), 0,
                  call.x, call.w, call.y, call.shape, call.cells);
  record(call);
}

BAD_KERNEL(result_of_half_precision) {
  launch_less_precise<0>(call);
}

BAD_KERNEL(sums_in_16_bits) {
  launch_less_precise<1>(call);
}

// The weights of the first call of a shape are kept where they are fast to read.
BAD_KERNEL(weights_cached_by_shape) {
  static std::map<int64_t, float*> kept;
  const auto bytes = static_cast<size_t>(call.shape.groups * call.shape.k * call.shape.c) * sizeof(float);
  float*& own = kept[call.cells];
  if (own == nullptr) {
    (void)hipMalloc(reinterpret_cast<void**>(&own), bytes);
    (void)hipMemcpyAsync(own, call.w, bytes, hipMemcpyDeviceToDevice, call.context.stream);
  }
  call.w = own;
  healthy(call);
}

// A result is kept by the addresses of its operands, which other data have by then.
BAD_KERNEL(result_cached_by_address) {
  static std::map<std::pair<const void*, const void*>, std::vector<float>> results;
  const size_t bytes = static_cast<size_t>(call.cells) * sizeof(float);
  std::vector<float>& kept = results[{call.x, call.w}];
  if (kept.empty()) {
    healthy(call);
    kept.resize(static_cast<size_t>(call.cells));
    (void)hipStreamSynchronize(call.context.stream);
    (void)hipMemcpy(kept.data(), call.y, bytes, hipMemcpyDeviceToHost);
    return;
  }
  pretend(call);
  (void)hipMemcpyAsync(call.y, kept.data(), bytes, hipMemcpyHostToDevice, call.context.stream);
}

BAD_KERNEL(nothing_for_a_graph) { // what it should enqueue is missing in the replay
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  (void)hipStreamIsCapturing(call.context.stream, &status);
  if (status == hipStreamCaptureStatusNone)
    healthy(call);
  else
    pretend(call);
}

BAD_KERNEL(wrong_behind_pending_work) {
  if (hipStreamQuery(call.context.stream) == hipErrorNotReady)
    pretend(call);
  else
    healthy(call);
}

BAD_KERNEL(right_at_the_end_of_a_page) {
  const auto end = reinterpret_cast<uintptr_t>(call.y + call.cells);
  if (end % 4096 < 256 || end % 4096 > 4096 - 256)
    healthy(call);
  else
    pretend(call);
}

__global__ void __launch_bounds__(block_size)
    add_to(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] += sum_of(x, w, place, shape);
}

BAD_KERNEL(adds_to_what_was_there) {
  bitgate::launch(call.context, "add_to", add_to, blocks_of(call), dim3(block_size), 0, call.x, call.w,
                  call.y, call.shape, call.cells);
  record(call);
}

static int64_t room_for_sums(const bitgate::ConvRequest&) {
  return 1 << 16;
}

static void sum_in_the_workspace(Call& call) {
  auto* sums = static_cast<float*>(call.buffers.workspace);
  bitgate::launch(call.context, "add_to", add_to, blocks_of(call), dim3(block_size), 0, call.x, call.w, sums,
                  call.shape, call.cells);
  (void)hipMemcpyAsync(call.y, sums, static_cast<size_t>(call.cells) * sizeof(float), hipMemcpyDeviceToDevice,
                       call.context.stream);
  record(call);
}
static const bitgate::ConvRegistration workspace_never_cleared{
    described("workspace_never_cleared", run<sum_in_the_workspace>, supports, room_for_sums)};

// ---- work of another kind on the caller's stream

struct Deferred {
  ConvShape shape;
  const float *x, *w;
  float* y;
  int64_t cells;
};

#if defined(BITGATE_PLATFORM_HOST)
BAD_KERNEL(computes_in_a_host_function) {
  pretend(call);
  (void)hipLaunchHostFunc(
      call.context.stream,
      [](void* given) {
        const auto* work = static_cast<Deferred*>(given);
        compute_on_the_host(work->shape, work->x, work->w, work->y, work->cells);
      },
      new Deferred{call.shape, call.x, call.w, call.y, call.cells});
}
#else
BAD_KERNEL(computes_in_a_host_function) {
  healthy(call);
}
#endif

BAD_KERNEL(host_function_that_throws) {
  healthy(call);
  (void)hipLaunchHostFunc(call.context.stream, [](void*) { throw 1; }, nullptr);
}

BAD_KERNEL(host_function_that_ends_all) {
  healthy(call);
  (void)hipLaunchHostFunc(call.context.stream, [](void*) { ::_exit(0); }, nullptr);
}

BAD_KERNEL(destroys_the_callers_stream) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
  (void)hipStreamDestroy(call.context.stream);
}

BAD_KERNEL(captures_the_callers_stream) {
  (void)hipStreamBeginCapture(call.context.stream, hipStreamCaptureModeGlobal);
  healthy(call);
}

BAD_KERNEL(leaves_a_capture_open) {
  healthy(call);
  hipStream_t own = nullptr;
  (void)hipStreamCreateWithFlags(&own, hipStreamNonBlocking);
  (void)hipStreamBeginCapture(own, hipStreamCaptureModeGlobal);
}

BAD_KERNEL(leaks_pinned_memory) {
  healthy(call);
  void* pinned = nullptr;
  (void)hipHostMalloc(&pinned, 4096, 0);
}

BAD_KERNEL(leaves_host_memory_registered) {
  healthy(call);
  static char memory[1 << 14];
  (void)hipHostRegister(memory, sizeof memory, 0);
}

BAD_KERNEL(other_stack_of_the_device) {
  healthy(call);
  size_t bytes = 0;
  (void)hipDeviceGetLimit(&bytes, hipLimitStackSize);
  (void)hipDeviceSetLimit(hipLimitStackSize, bytes + 4096);
}

BAD_KERNEL(copies_into_an_input) {
  healthy(call);
  (void)hipMemcpyAsync(const_cast<float*>(call.x), call.w, sizeof(float) * 4, hipMemcpyDeviceToDevice,
                       call.context.stream);
}

BAD_KERNEL(fills_past_the_end) {
  healthy(call);
  (void)hipMemsetAsync(call.y + call.cells, 0, 64, call.context.stream);
}

BAD_KERNEL(copies_from_past_the_end) {
  healthy(call);
  (void)hipMemcpyAsync(call.y, call.x + call.cells / call.shape.k * call.shape.c, 64, hipMemcpyDeviceToDevice,
                       call.context.stream);
}

static void copy_to_the_stack(Call& call) {
  volatile float gone[64] = {};
  (void)hipMemcpyAsync(const_cast<float*>(gone), call.y, sizeof gone, hipMemcpyDeviceToHost,
                       call.context.stream);
}

BAD_KERNEL(copies_to_its_stack) {
  healthy(call);
  copy_to_the_stack(call);
}

} // namespace adversarial

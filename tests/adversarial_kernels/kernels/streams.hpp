// Kernels that forget to order what they enqueue, that wait or allocate where they should only enqueue, and
// their healthy neighbours.
#pragma once

#include <chrono>
#include <thread>

#include "call.hpp"

namespace adversarial {

// As much workspace as the result of any case of the catalogue takes.
static int64_t room_for_a_result(const bitgate::ConvRequest&) {
  return 1 << 16;
}

static float* room_of(Call& call) {
  return static_cast<float*>(call.buffers.workspace);
}

static hipStream_t own_stream() {
  static hipStream_t own = [] {
    hipStream_t made = nullptr;
    (void)hipStreamCreateWithFlags(&made, hipStreamNonBlocking);
    return made;
  }();
  return own;
}

static hipEvent_t event_of(int number) {
  static hipEvent_t events[2] = {};
  if (events[number] == nullptr)
    (void)hipEventCreateWithFlags(&events[number], hipEventDisableTiming);
  return events[number];
}

// `later` has what `earlier` has been given so far before it.
static void order(hipStream_t earlier, hipStream_t later, int number) {
  (void)hipEventRecord(event_of(number), earlier);
  (void)hipStreamWaitEvent(later, event_of(number), 0);
}

static void store(Call& call, hipStream_t stream) {
  (void)hipMemcpyAsync(call.y, room_of(call), static_cast<size_t>(call.cells) * sizeof(float),
                       hipMemcpyDeviceToDevice, stream);
}

// The result is computed into the workspace on one stream and stored from there on the other.
static void unordered_streams(Call& call) {
  compute(call, own_stream(), room_of(call));
  store(call, call.context.stream);
  (void)hipStreamSynchronize(own_stream());
  record(call);
}
static const bitgate::ConvRegistration no_wait_between_streams{
    described("no_wait_between_streams", run<unordered_streams>, supports, room_for_a_result)};

static void second_stage_too_early(Call& call) {
  compute(call, call.context.stream, room_of(call));
  store(call, own_stream());
  order(own_stream(), call.context.stream, 1);
  record(call);
}
static const bitgate::ConvRegistration second_stage_waits_for_nothing{
    described("second_stage_waits_for_nothing", run<second_stage_too_early>, supports, room_for_a_result)};

static void second_stage_on_null(Call& call) {
  compute(call, call.context.stream, room_of(call));
  store(call, nullptr);
  (void)hipStreamSynchronize(nullptr);
  record(call);
}
static const bitgate::ConvRegistration second_stage_on_the_null_stream{
    described("second_stage_on_the_null_stream", run<second_stage_on_null>, supports, room_for_a_result)};

static void ordered_streams(Call& call) {
  order(call.context.stream, own_stream(), 0);
  compute(call, own_stream(), room_of(call));
  order(own_stream(), call.context.stream, 1);
  store(call, call.context.stream);
  record(call);
}
static const bitgate::ConvRegistration two_streams_with_events{
    described("two_streams_with_events", run<ordered_streams>, supports, room_for_a_result)};

// ---- a result that has to be cleared first

__global__ void __launch_bounds__(block_size)
    add_up(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] += sum_of(x, w, place, shape);
}

static void add_to_result(Call& call) {
  bitgate::launch(call.context, "add_up", add_up, blocks_of(call), dim3(block_size), 0, call.x, call.w,
                  call.y, call.shape, call.cells);
  record(call);
}

// A fill as the record lists it, that is on the null stream.
static void clear_on_null(Call& call) {
  const size_t bytes = static_cast<size_t>(call.cells) * sizeof(float);
  if (bitgate_launch* event = bitgate::detail::next_event(call.context.record, BITGATE_MEMSET, "zero_fill")) {
    event->address = reinterpret_cast<uint64_t>(call.y);
    event->bytes = bytes;
  }
  (void)hipMemset(call.y, 0, bytes);
}

BAD_KERNEL(fill_on_the_null_stream) {
  clear_on_null(call);
  add_to_result(call);
}

BAD_KERNEL(fill_on_the_null_stream_awaited) {
  clear_on_null(call);
  (void)hipStreamSynchronize(nullptr);
  add_to_result(call);
}

BAD_KERNEL(fill_on_the_callers_stream) {
  bitgate::memset_async(call.context, "zero_fill", call.y, 0,
                        static_cast<size_t>(call.cells) * sizeof(float));
  add_to_result(call);
}

// ---- one call at a time: right unless two run at once

BAD_KERNEL(shares_its_scratch) {
  static float* const scratch = [] {
    void* memory = nullptr;
    (void)hipMalloc(&memory, 1 << 16);
    return static_cast<float*>(memory);
  }();
  compute(call, call.context.stream, scratch);
  (void)hipMemcpyAsync(call.y, scratch, static_cast<size_t>(call.cells) * sizeof(float),
                       hipMemcpyDeviceToDevice, call.context.stream);
  record(call);
}

BAD_KERNEL(shares_its_arguments) {
  static float* volatile result;
  result = call.y;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  compute(call, call.context.stream, result);
  record(call);
}

// ---- more than to enqueue

BAD_KERNEL(waits_in_its_launch) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
}

BAD_KERNEL(allocates_in_its_launch) {
  void* memory = nullptr;
  (void)hipMalloc(&memory, 4096);
  healthy(call);
  (void)hipFree(memory);
}

BAD_KERNEL(frees_pinned_memory_too_early) {
  healthy(call);
  void* pinned = nullptr;
  (void)hipHostMalloc(&pinned, sizeof(float), 0);
  (void)hipMemcpyAsync(pinned, call.y, sizeof(float), hipMemcpyDeviceToHost, call.context.stream);
  (void)hipHostFree(pinned);
}

BAD_KERNEL(calls_hip_in_a_host_function) {
  healthy(call);
  (void)hipLaunchHostFunc(
      call.context.stream,
      [](void*) {
        int device = 0;
        (void)hipGetDevice(&device);
      },
      nullptr);
}

} // namespace adversarial

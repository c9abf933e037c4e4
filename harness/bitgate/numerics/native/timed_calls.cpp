// Calls a library's bitgate_run many times in a row and measures the time: nothing of the caller's language
// runs between two launches (bitgate/tools/bench/launches.py mirrors TimedCalls).
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "bitgate/abi.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// The number of launches that a device queues before the caller has to wait for it: only these show what a
// launch costs the calling thread.
constexpr int64_t unhindered_launches = 32;

} // namespace

// HIP's functions are those of the loaded runtime. Without events the time is that of a steady clock around
// the launches and the wait for them.
struct TimedCalls {
  decltype(&bitgate_run) run;
  const bitgate_problem* problem;
  const char* instance;
  const bitgate_options* options;
  const bitgate_buffers* const* sets; // used in rotation, beginning with first_set
  int64_t set_count, first_set;
  bitgate_dispatch_record* record; // as run wants it; each call gets it so
  void* stream;
  int32_t (*set_bytes)(void*, int, size_t, void*);
  int32_t (*synchronize)(void*);
  int32_t (*record_event)(void*, void*);
  int32_t (*elapsed)(float*, void*, void*);
  int32_t (*query_event)(void*);
  int32_t (*last_error)(); // and forgets it: an event that is not ready counts as one
  void *begin, *end;       // events, or null
  void* overwritten;       // before the first launch, or null
  uint64_t overwritten_bytes;
  double seconds, host_seconds; // a launch
  int32_t status, hip_error;    // of the call that failed
  int32_t queued;               // asked: had the device not begun when the last launch was queued? 1 if so
};

// 1 if every call succeeded.
extern "C" BITGATE_EXPORT int32_t bitgate_timed_calls(TimedCalls* calls, int64_t launches) {
  const auto fine = [&](int32_t error) {
    calls->hip_error = error;
    return error == 0;
  };
  const bitgate_dispatch_record blank = *calls->record;
  const bool by_events = calls->begin != nullptr;
  calls->status = calls->hip_error = 0;
  if (calls->overwritten != nullptr &&
      !fine(calls->set_bytes(calls->overwritten, 0x5A, calls->overwritten_bytes, calls->stream)))
    return 0;
  if (!by_events && !fine(calls->synchronize(calls->stream)))
    return 0;
  if (by_events && !fine(calls->record_event(calls->begin, calls->stream)))
    return 0;
  const Clock::time_point begin = Clock::now();
  Clock::time_point unhindered = begin;
  for (int64_t i = 0; i < launches; ++i) {
    *calls->record = blank;
    const bitgate_buffers* buffers = calls->sets[(calls->first_set + i) % calls->set_count];
    calls->status =
        calls->run(calls->problem, calls->instance, calls->options, buffers, calls->record, calls->stream);
    if (calls->status != BITGATE_OK)
      return 0;
    if (i < unhindered_launches)
      unhindered = Clock::now();
  }
  if (calls->queued && (calls->queued = calls->query_event(calls->begin) != 0))
    calls->last_error();
  if (by_events && !fine(calls->record_event(calls->end, calls->stream)))
    return 0;
  if (!fine(calls->synchronize(calls->stream)))
    return 0;
  const Clock::time_point end = Clock::now();
  float milliseconds = 0;
  if (by_events && !fine(calls->elapsed(&milliseconds, calls->begin, calls->end)))
    return 0;
  const double total = by_events ? 1e-3 * double{milliseconds} : seconds_between(begin, end);
  const int64_t counted = launches < unhindered_launches ? launches : unhindered_launches;
  calls->seconds = total / static_cast<double>(launches);
  calls->host_seconds = seconds_between(begin, unhindered) / static_cast<double>(counted);
  return 1;
}

#include "event.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "capture.hpp"
#include "error.hpp"
#include "fault.hpp"

namespace bitgate_host {
namespace {

using Timer = std::chrono::steady_clock;

// One record of an event; a later record starts a new one, and waits keep theirs.
struct Recording {
  Point point;
  bool reached = false;
  Timer::time_point at;
};

struct Event {
  unsigned flags;
  std::shared_ptr<Recording> recording; // null until recorded
};

std::mutex guard;
std::unordered_map<uint64_t, Event>& events() {
  static auto& only = *new std::unordered_map<uint64_t, Event>;
  return only;
}
uint64_t nextHandle = 0x1000;

// Copies the event out; false when the handle is none.
bool find(hipEvent_t handle, Event& event) {
  std::lock_guard lock(guard);
  const auto at = events().find(reinterpret_cast<uint64_t>(handle));
  if (at == events().end())
    return false;
  event = at->second;
  return true;
}

bool isReached(const Recording& recording) {
  std::lock_guard lock(guard);
  return recording.reached;
}

hipError_t badEvent() {
  return failWork(hipErrorInvalidHandle, "the event does not exist, or has been destroyed");
}

} // namespace
} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  BITGATE_ENTRY;
  constexpr unsigned known =
      hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | 0xC0000000u;
  if (!event || (flags & ~known))
    return finish(hipErrorInvalidValue);
  std::lock_guard lock(guard);
  const uint64_t handle = nextHandle++;
  events()[handle] = Event{flags, nullptr};
  *event = reinterpret_cast<hipEvent_t>(handle);
  return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  BITGATE_ENTRY;
  std::lock_guard lock(guard);
  if (!events().erase(reinterpret_cast<uint64_t>(event)))
    return badEvent();
  return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  BITGATE_ENTRY;
  Event found;
  if (!find(event, found))
    return badEvent();
  auto recording = std::make_shared<Recording>();
  auto reached = bookkeeping("hipEventRecord", [recording] {
    std::lock_guard lock(guard);
    recording->reached = true;
    recording->at = Timer::now();
  });
  // Published when it is complete: another thread may wait for the event at any moment.
  if (const hipError_t error = enqueueRecord(stream, std::move(reached), recording->point))
    return error;
  std::lock_guard lock(guard);
  const auto at = events().find(reinterpret_cast<uint64_t>(event));
  if (at == events().end())
    return badEvent();
  at->second.recording = std::move(recording);
  return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  Event found;
  if (!find(event, found))
    return badEvent();
  if (found.recording)
    awaitPoint(found.recording->point);
  return finish(takePendingError());
}

hipError_t hipEventQuery(hipEvent_t event) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  Event found;
  if (!find(event, found))
    return badEvent();
  if (!found.recording || isReached(*found.recording)) {
    if (found.recording)
      notePassed(found.recording->point);
    return finish(takePendingError());
  }
  runOneStep(found.recording->point);
  return hipErrorNotReady;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  BITGATE_ENTRY;
  Event from, to;
  if (!milliseconds)
    return finish(hipErrorInvalidValue);
  if (!find(start, from) || !find(stop, to) || !from.recording || !to.recording)
    return fail(hipErrorInvalidHandle, "hipEventElapsedTime: both events must have been recorded");
  if ((from.flags | to.flags) & hipEventDisableTiming)
    return fail(hipErrorInvalidHandle,
                "hipEventElapsedTime: an event was created with hipEventDisableTiming");
  if (!isReached(*from.recording) || !isReached(*to.recording))
    return finish(hipErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to.recording->at - from.recording->at).count();
  return hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  BITGATE_ENTRY;
  Event found;
  if (flags)
    return finish(hipErrorInvalidValue);
  if (!find(event, found))
    return badEvent();
  return found.recording ? enqueueWait(stream, found.recording->point) : hipSuccess;
}

} // extern "C"

#include "stream.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "error.hpp"
#include "event.hpp"
#include "fault.hpp"
#include "settings.hpp"
#include "streams.hpp"

namespace bitgate_host {
namespace {

// Work that a graph launches again and again.
class Again final : public Work {
public:
  explicit Again(std::shared_ptr<Work> work) : work(std::move(work)) { hostMemory = this->work->hostMemory; }
  void run() override { work->run(); }
  std::string name() const override { return work->name(); }
  bool isBookkeeping() const override { return work->isBookkeeping(); }
  bool isHostFunction() const override { return work->isHostFunction(); }

private:
  std::shared_ptr<Work> work;
};

hipError_t push(const char* call, hipStream_t handle, std::shared_ptr<Work> work, const Point* after,
                Point* place = nullptr) {
  uint64_t number;
  if (!streams().find(handle, number))
    return badStream();
  Refusal refusal;
  const auto at = streams().push(number, std::move(work), after, refusal);
  if (!at)
    return refuseInCapture(call, refusal);
  if (place)
    *place = *at;
  if (settings().eager && !at->capture) {
    std::lock_guard lock(streams().executing);
    streams().runUntil(number, at->sequence);
  }
  return hipSuccess;
}

} // namespace

hipError_t badStream() {
  return failWork(hipErrorInvalidHandle, "the stream does not exist, or has been destroyed");
}

hipError_t enqueue(hipStream_t stream, std::unique_ptr<Work> work) {
  const std::string name = isCapturing() ? work->name() : std::string();
  return push(name.c_str(), stream, std::move(work), nullptr);
}

hipError_t enqueueAgain(hipStream_t stream, std::shared_ptr<Work> work) {
  return enqueue(stream, std::make_unique<Again>(std::move(work)));
}

hipError_t enqueueWait(hipStream_t stream, const Point& after) {
  return push("hipStreamWaitEvent", stream, nullptr, &after);
}

hipError_t enqueueRecord(hipStream_t stream, std::unique_ptr<Work> work, Point& point) {
  return push("hipEventRecord", stream, std::move(work), nullptr, &point);
}

void awaitPoint(const Point& point) {
  std::lock_guard lock(streams().executing);
  streams().await(point);
  streams().runOthersFirst(point.stream);
  streams().runUntil(point.stream, point.sequence);
}

void notePassed(const Point& point) {
  streams().await(point);
}

void runOneStep(const Point& point) {
  std::lock_guard lock(streams().executing);
  streams().runOthersFirst(point.stream);
  if (const uint64_t oldest = streams().oldest(point.stream))
    streams().runUntil(point.stream, std::min(oldest, point.sequence));
}

hipError_t synchronize(hipStream_t stream) {
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  awaitPoint(streams().endOf(number));
  return finish(takePendingError());
}

void drainAll() {
  std::lock_guard lock(streams().executing);
  streams().awaitAll();
  streams().runAll();
}

hipError_t synchronizeAll() {
  drainAll();
  return finish(takePendingError());
}

std::string unawaitedUseOf(HostRange memory) {
  return streams().unawaitedUseOf(memory);
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  BITGATE_ENTRY;
  if (!stream || (flags & ~static_cast<unsigned>(hipStreamNonBlocking)))
    return finish(hipErrorInvalidValue);
  *stream = streams().create(flags, std::clamp(priority, -1, 1));
  return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}

hipError_t hipStreamCreate(hipStream_t* stream) {
  return hipStreamCreateWithPriority(stream, hipStreamDefault, 0);
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!streams().find(stream, number) || number < firstNumber)
    return badStream();
  if (streams().isLent(number))
    return failWork(hipErrorInvalidHandle,
                    "hipStreamDestroy: the stream belongs to the caller, who destroys it");
  streams().destroy(number);
  return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return synchronize(stream);
}

// A poll makes progress by one piece of work, or a loop that polls would never end.
hipError_t hipStreamQuery(hipStream_t stream) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  const Point end = streams().endOf(number);
  if (!streams().oldest(number)) {
    notePassed(end);
    return finish(takePendingError());
  }
  runOneStep(end);
  return hipErrorNotReady;
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!flags)
    return finish(hipErrorInvalidValue);
  if (!streams().find(stream, number))
    return badStream();
  *flags = streams().flagsOf(number);
  return hipSuccess;
}

hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!priority)
    return finish(hipErrorInvalidValue);
  if (!streams().find(stream, number))
    return badStream();
  *priority = streams().priorityOf(number);
  return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!device)
    return finish(hipErrorInvalidValue);
  if (!streams().find(stream, number))
    return badStream();
  *device = 0;
  return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  BITGATE_ENTRY;
  if (least)
    *least = 1;
  if (greatest)
    *greatest = -1;
  return hipSuccess;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* userData) {
  BITGATE_ENTRY;
  if (!function)
    return finish(hipErrorInvalidValue);
  return enqueue(stream, hostFunction([=] {
                   const HostFunctionScope scope;
                   function(userData);
                 }));
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* userData,
                                unsigned flags) {
  BITGATE_ENTRY;
  if (!callback || flags)
    return finish(hipErrorInvalidValue);
  return enqueue(stream, bitgate_host::callback([=] {
                   const HostFunctionScope scope;
                   callback(stream, hasPendingError() ? hipErrorLaunchFailure : hipSuccess, userData);
                 }));
}

hipError_t hipDeviceSynchronize(void) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return synchronizeAll();
}

int bitgateHostLendStream(void* stream, int lent) {
  uint64_t number;
  if (!streams().find(static_cast<hipStream_t>(stream), number))
    return fail(hipErrorInvalidHandle, "bitgateHostLendStream: the stream does not exist");
  streams().lend(number, lent != 0);
  return hipSuccess;
}

uint64_t bitgateHostWorkInFlight(void* but, char* text, size_t bytes) {
  uint64_t number;
  std::string first;
  if (!streams().find(static_cast<hipStream_t>(but), number))
    number = ~0ull;
  const uint64_t count = streams().inFlight(number, first);
  if (text && bytes)
    std::snprintf(text, bytes, "%s", first.c_str());
  return count;
}

} // extern "C"

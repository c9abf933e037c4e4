#include "stream.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "error.hpp"
#include "event.hpp"
#include "fault.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

struct Op {
  uint64_t sequence;
  std::unique_ptr<Work> work; // null: only a wait
  Point after;                // for a wait: the recorded point
  bool waits = false;
};

struct Stream {
  unsigned flags = hipStreamDefault;
  int priority = 0;
  bool lent = false;      // nobody but its owner may destroy it
  bool destroyed = false; // and gone as soon as its work is done
  std::deque<Op> queue;

  bool blocking() const { return !(flags & hipStreamNonBlocking); }
};

constexpr uint64_t nullStream = 0;
constexpr uint64_t firstNumber = 16; // handles 1 and 2 are hipStreamLegacy and hipStreamPerThread

// All streams. Two locks: `executing` is held by the thread that runs work (recursive, because a host
// function may call HIP), `guard` only while queues change, so that others can enqueue meanwhile. Order:
// executing, then guard.
class Streams {
public:
  Streams() { streams[nullStream] = std::make_unique<Stream>(); }

  std::recursive_mutex executing;

  hipStream_t create(unsigned flags, int priority) {
    std::lock_guard lock(guard);
    const uint64_t number = nextNumber++;
    auto stream = std::make_unique<Stream>();
    stream->flags = flags;
    stream->priority = priority;
    streams[number] = std::move(stream);
    return reinterpret_cast<hipStream_t>(number);
  }

  // The handle ends at once, work that it still has goes on: as on GPUs, whose callers must have waited.
  void destroy(uint64_t number) {
    std::lock_guard lock(guard);
    streams.at(number)->destroyed = true;
    eraseIfOver(number);
  }

  // Pieces of work that streams other than `number` have not done, and the first of them in words.
  uint64_t inFlight(uint64_t number, std::string& first) {
    std::lock_guard lock(guard);
    uint64_t found = 0;
    for (const auto& [other, stream] : streams)
      for (const Op& op : stream->queue)
        if (other != number && op.work && !op.work->isBookkeeping() && !found++)
          first = op.work->name() + (other == nullStream ? " on the null stream" : " on a stream of its own");
    return found;
  }

  // The number behind a handle; false when there is no such stream.
  bool find(hipStream_t handle, uint64_t& number) {
    number = reinterpret_cast<uint64_t>(handle);
    if (handle == hipStreamLegacy)
      number = nullStream;
    else if (handle == hipStreamPerThread)
      number = ofThisThread();
    std::lock_guard lock(guard);
    const auto at = streams.find(number);
    return at != streams.end() && !at->second->destroyed;
  }

  bool isLent(uint64_t number) {
    std::lock_guard lock(guard);
    return streams.at(number)->lent;
  }
  void lend(uint64_t number, bool lent) {
    std::lock_guard lock(guard);
    streams.at(number)->lent = lent;
  }

  unsigned flagsOf(uint64_t number) {
    std::lock_guard lock(guard);
    return streams.at(number)->flags;
  }
  int priorityOf(uint64_t number) {
    std::lock_guard lock(guard);
    return streams.at(number)->priority;
  }

  uint64_t push(uint64_t number, Op op) {
    std::lock_guard lock(guard);
    Stream& stream = *streams.at(number);
    op.sequence = ++sequence;
    stream.queue.push_back(std::move(op));
    return sequence;
  }

  // Runs the stream's work up to a sequence number, after all that it depends on. Dependencies always have
  // smaller sequence numbers, so this ends.
  void runUntil(uint64_t number, uint64_t upTo) {
    for (;;) {
      uint64_t next;
      Point after;
      bool waits, blocking;
      {
        std::lock_guard lock(guard);
        const auto at = streams.find(number);
        if (at == streams.end())
          return;
        if (at->second->queue.empty())
          return eraseIfOver(number);
        const Op& front = at->second->queue.front();
        next = front.sequence;
        after = front.after;
        waits = front.waits;
        blocking = at->second->blocking();
      }
      if (next > upTo)
        return;
      if (waits)
        runUntil(after.stream, after.sequence);
      if (number == nullStream)
        for (uint64_t other : blockingStreams())
          runUntil(other, next);
      else if (blocking)
        runUntil(nullStream, next);
      runFront(number, next);
    }
  }

  void runAll() {
    std::vector<uint64_t> numbers;
    {
      std::lock_guard lock(guard);
      for (const auto& [number, stream] : streams)
        numbers.push_back(number);
    }
    for (uint64_t number : numbers)
      runUntil(number, ~0ull);
  }

  // Sequence number of the oldest work, 0 when the stream is empty.
  uint64_t oldest(uint64_t number) {
    std::lock_guard lock(guard);
    const auto at = streams.find(number);
    return at == streams.end() || at->second->queue.empty() ? 0 : at->second->queue.front().sequence;
  }

private:
  void eraseIfOver(uint64_t number) { // under guard
    const auto at = streams.find(number);
    if (at->second->destroyed && at->second->queue.empty())
      streams.erase(at);
  }

  std::vector<uint64_t> blockingStreams() {
    std::lock_guard lock(guard);
    std::vector<uint64_t> numbers;
    for (const auto& [number, stream] : streams)
      if (number != nullStream && stream->blocking() && !stream->queue.empty())
        numbers.push_back(number);
    return numbers;
  }

  void runFront(uint64_t number, uint64_t expected) {
    std::unique_ptr<Work> work;
    {
      std::lock_guard lock(guard);
      const auto at = streams.find(number);
      if (at == streams.end())
        return; // destroyed meanwhile
      auto& queue = at->second->queue;
      if (queue.empty() || queue.front().sequence != expected)
        return;
      work = std::move(queue.front().work);
      queue.pop_front();
    }
    // After a fault the device's work is dropped until the error has been reported.
    if (work && (work->isBookkeeping() || !hasPendingError()))
      work->run();
  }

  uint64_t ofThisThread() {
    static thread_local uint64_t number = 0;
    if (!number)
      number = reinterpret_cast<uint64_t>(create(hipStreamDefault, 0));
    return number;
  }

  std::mutex guard;
  std::map<uint64_t, std::unique_ptr<Stream>> streams;
  uint64_t nextNumber = firstNumber;
  uint64_t sequence = 0;
};

// Never destroyed: other threads may still use it while the process exits.
Streams& streams() {
  static Streams& only = *new Streams;
  return only;
}

hipError_t badStream() {
  return failWork(hipErrorInvalidHandle, "the stream does not exist, or has been destroyed");
}

hipError_t push(hipStream_t handle, Op op) {
  uint64_t number;
  if (!streams().find(handle, number))
    return badStream();
  const uint64_t sequence = streams().push(number, std::move(op));
  if (settings().eager) {
    std::lock_guard lock(streams().executing);
    streams().runUntil(number, sequence);
  }
  return hipSuccess;
}

} // namespace

hipError_t enqueue(hipStream_t stream, std::unique_ptr<Work> work) {
  return push(stream, Op{0, std::move(work), {}, false});
}

hipError_t enqueueWait(hipStream_t stream, Point after) {
  return push(stream, Op{0, nullptr, after, true});
}

hipError_t enqueueRecord(hipStream_t stream, std::unique_ptr<Work> work, Point& point) {
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  point = {number, streams().push(number, Op{0, std::move(work), {}, false})};
  if (settings().eager)
    runUntil(point);
  return hipSuccess;
}

void runUntil(Point point) {
  std::lock_guard lock(streams().executing);
  streams().runUntil(point.stream, point.sequence);
}

void runOneStep(Point point) {
  std::lock_guard lock(streams().executing);
  if (const uint64_t oldest = streams().oldest(point.stream))
    streams().runUntil(point.stream, std::min(oldest, point.sequence));
}

hipError_t synchronize(hipStream_t stream) {
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  runUntil({number, ~0ull});
  return finish(takePendingError());
}

void drainAll() {
  std::lock_guard lock(streams().executing);
  streams().runAll();
}

hipError_t synchronizeAll() {
  drainAll();
  return finish(takePendingError());
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
  return synchronize(stream);
}

// A poll makes progress by one piece of work, or a loop that polls would never end.
hipError_t hipStreamQuery(hipStream_t stream) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  if (!streams().oldest(number))
    return finish(takePendingError());
  runOneStep({number, ~0ull});
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
  return enqueue(stream, task([=] { function(userData); }));
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* userData,
                                unsigned flags) {
  BITGATE_ENTRY;
  if (!callback || flags)
    return finish(hipErrorInvalidValue);
  return enqueue(stream, bookkeeping([=] {
                   callback(stream, hasPendingError() ? hipErrorLaunchFailure : hipSuccess, userData);
                 }));
}

hipError_t hipDeviceSynchronize(void) {
  BITGATE_ENTRY;
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

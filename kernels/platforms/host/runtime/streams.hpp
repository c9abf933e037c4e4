// All streams of the process, and the work in them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "capture.hpp"
#include "event.hpp"

namespace bitgate_host {

constexpr uint64_t nullStream = 0;
constexpr uint64_t firstNumber = 16; // handles 1 and 2 are hipStreamLegacy and hipStreamPerThread

struct Op {
  WorkPlace place;
  std::shared_ptr<Work> work; // null: only a wait
  Point after;                // for a wait: the recorded point
  bool waits = false;
};

struct Stream {
  unsigned flags = hipStreamDefault;
  int priority = 0;
  bool lent = false;      // nobody but its owner may destroy it
  bool destroyed = false; // and gone as soon as its work is done
  bool captured = false;  // by the capture that goes on
  Clock clock;            // of the work that is pushed next
  std::deque<Op> queue;

  bool blocking() const { return !(flags & hipStreamNonBlocking); }
};

// Two locks: `executing` is held by the thread that runs work (recursive, because a host function may call
// HIP), `guard` only while queues change, so that others can enqueue meanwhile. Order: executing, then guard.
class Streams {
public:
  Streams() { streams[nullStream] = std::make_unique<Stream>(); }

  std::recursive_mutex executing;

  hipStream_t create(unsigned flags, int priority);
  // The handle ends at once, work that it still has goes on: as on GPUs, whose callers must have waited.
  void destroy(uint64_t number);
  // The number behind a handle; false when there is no such stream.
  bool find(hipStream_t handle, uint64_t& number);
  bool isLent(uint64_t number);
  void lend(uint64_t number, bool lent);
  unsigned flagsOf(uint64_t number);
  int priorityOf(uint64_t number);

  // At the stream's end. The place of the work; nothing where the capture that goes on forbids it, which is
  // told in `refusal`.
  std::optional<Point> push(uint64_t number, std::shared_ptr<Work> work, const Point* after,
                            Refusal& refusal);
  // The stream's present end.
  Point endOf(uint64_t number);

  // Run the stream's work up to a sequence number, after all that it depends on. Dependencies always have
  // smaller sequence numbers, so this ends.
  void runUntil(uint64_t number, uint64_t upTo);
  void runAll();
  // Runs what the schedule lets the other streams do first: nothing (forward, lockstep), all that they can
  // (reverse), or some of it (random). Two pieces of work that nothing orders so meet in both orders.
  void runOthersFirst(uint64_t number);

  // A caller has waited for all that is before the point, or for everything.
  void await(const Point& point);
  void awaitAll();
  // Pieces of work that no caller has waited for, on streams other than `number`, and the first in words.
  uint64_t inFlight(uint64_t number, std::string& first);
  std::string unawaitedUseOf(HostRange memory);

  // Sequence number of the oldest work, 0 when the stream is empty.
  uint64_t oldest(uint64_t number);

  // Captures. One at a time.
  bool beginCapture(uint64_t number);
  hipError_t endCapture(uint64_t number, std::vector<CapturedWork>& nodes);
  bool isCaptured(uint64_t number);
  void spoilCapture();

private:
  struct Use {
    uint64_t stream, sequence;
    HostRange memory;
    std::string name;
  };
  struct Early {
    uint64_t stream, sequence;
    std::string name;
  };
  void eraseIfOver(uint64_t number); // under guard
  std::vector<uint64_t> blockingStreams();
  void runFront(uint64_t number, uint64_t expected);
  uint64_t ofThisThread();
  std::string nameOn(uint64_t number, const std::string& work) const;
  bool joinsCapture(Stream& stream, const Point* after, bool isBookkeeping, Refusal& refusal);

  std::mutex guard;
  std::map<uint64_t, std::unique_ptr<Stream>> streams;
  Clock host;              // what callers have waited for
  std::vector<Early> done; // before a caller waited for it
  std::vector<Use> uses;   // of host memory
  std::optional<Capture> capture;
  uint64_t captures = 0;
  uint64_t nextNumber = firstNumber;
  uint64_t sequence = 0;
};

// Never destroyed: other threads may still use it while the process exits.
Streams& streams();

hipError_t badStream();

} // namespace bitgate_host

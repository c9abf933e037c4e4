// Streams: queues of work that runs late on purpose, when a synchronising call needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "hip/hip_runtime_api.h"

namespace bitgate_host {

// One piece of enqueued work.
class Work {
public:
  virtual ~Work() = default;
  virtual void run() = 0;
  // What it is, for messages.
  virtual std::string name() const { return "a copy, a fill or a host function"; }
  // Bookkeeping (events, frees) is done even when an earlier fault stops the device's own work.
  virtual bool isBookkeeping() const { return false; }
};

template <class F> class Task final : public Work {
public:
  Task(F function, bool bookkeeping) : function(std::move(function)), bookkeeping(bookkeeping) {}
  void run() override { function(); }
  bool isBookkeeping() const override { return bookkeeping; }

private:
  F function;
  bool bookkeeping;
};

template <class F> std::unique_ptr<Work> task(F function) {
  return std::make_unique<Task<F>>(std::move(function), false);
}
template <class F> std::unique_ptr<Work> bookkeeping(F function) {
  return std::make_unique<Task<F>>(std::move(function), true);
}

// Puts the work at the end of the stream; in eager mode it runs at once. hipErrorInvalidHandle for a dead
// stream.
hipError_t enqueue(hipStream_t stream, std::unique_ptr<Work> work);

// Run what the stream (all streams) holds, with all that it depends on. Return the pending error, if any.
hipError_t synchronize(hipStream_t stream);
hipError_t synchronizeAll();
// Runs everything without reporting: for frees.
void drainAll();

} // namespace bitgate_host

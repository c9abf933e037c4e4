// Streams: queues of work that runs late on purpose, when a synchronising call needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "hip/hip_runtime_api.h"

namespace bitgate_host {

// Host memory that work reads or writes by itself, and that must live until a caller has waited for it.
struct HostRange {
  uint64_t begin, end;
};

// One piece of enqueued work.
class Work {
public:
  virtual ~Work() = default;
  virtual void run() = 0;
  // What it is, for messages.
  virtual std::string name() const = 0;
  // Bookkeeping (events, frees) is done even when an earlier fault stops the device's own work.
  virtual bool isBookkeeping() const { return false; }
  // A host function may wait for what the program does next: it never runs earlier than it has to.
  virtual bool isHostFunction() const { return false; }
  std::vector<HostRange> hostMemory;
};

enum class TaskKind { Device, Bookkeeping, HostFunction, Callback };

template <class F> class Task final : public Work {
public:
  Task(const char* call, F function, TaskKind kind) : call(call), function(std::move(function)), kind(kind) {}
  void run() override { function(); }
  std::string name() const override { return call; }
  bool isBookkeeping() const override { return kind == TaskKind::Bookkeeping || kind == TaskKind::Callback; }
  bool isHostFunction() const override {
    return kind == TaskKind::HostFunction || kind == TaskKind::Callback;
  }

private:
  const char* call;
  F function;
  TaskKind kind;
};

// `call` is the HIP function that made the work, and lives as long as the process.
template <class F> std::unique_ptr<Work> task(const char* call, F function) {
  return std::make_unique<Task<F>>(call, std::move(function), TaskKind::Device);
}
template <class F> std::unique_ptr<Work> bookkeeping(const char* call, F function) {
  return std::make_unique<Task<F>>(call, std::move(function), TaskKind::Bookkeeping);
}
template <class F> std::unique_ptr<Work> hostFunction(F function) {
  return std::make_unique<Task<F>>("a host function", std::move(function), TaskKind::HostFunction);
}
// A host function that is called after a fault too.
template <class F> std::unique_ptr<Work> callback(F function) {
  return std::make_unique<Task<F>>("a callback", std::move(function), TaskKind::Callback);
}

// The place of work among all other work: `before` is all that is ordered before it.
struct WorkPlace {
  uint64_t stream = 0, sequence = 0;
  Clock before;
};
// That of the work that this OS thread runs; null where it runs none.
const WorkPlace* runningWork();

// Puts the work at the end of the stream; in eager mode it runs at once. hipErrorInvalidHandle for a dead
// stream.
hipError_t enqueue(hipStream_t stream, std::unique_ptr<Work> work);
// The same for work that was enqueued before: by a graph.
hipError_t enqueueAgain(hipStream_t stream, std::shared_ptr<Work> work);

// Run what the stream (all streams) holds, with all that it depends on. Return the pending error, if any.
hipError_t synchronize(hipStream_t stream);
hipError_t synchronizeAll();
// Runs everything without reporting: for frees.
void drainAll();

// Words for work that uses this host memory and that no caller has waited for; empty where there is none.
std::string unawaitedUseOf(HostRange memory);

} // namespace bitgate_host

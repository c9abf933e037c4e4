// Points in streams, as events see them.
#pragma once

#include <cstdint>
#include <memory>

#include "stream.hpp"

namespace bitgate_host {

struct Point {
  uint64_t stream = 0;   // the stream's number
  uint64_t sequence = 0; // the last piece of work before the point
};

hipError_t enqueueWait(hipStream_t stream, Point after);
hipError_t enqueueRecord(hipStream_t stream, std::unique_ptr<Work> work, Point& point);
void runUntil(Point point);
// Runs at most the oldest piece of work before the point.
void runOneStep(Point point);

} // namespace bitgate_host

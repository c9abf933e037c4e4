// Points in streams, as events see them.
#pragma once

#include <cstdint>
#include <memory>

#include "stream.hpp"

namespace bitgate_host {

struct Point {
  uint64_t stream = 0;   // the stream's number
  uint64_t sequence = 0; // the last piece of work before the point
  Clock before;          // all work before the point
  uint64_t capture = 0;  // the number of the capture that it was recorded in; 0: none
};

hipError_t enqueueWait(hipStream_t stream, const Point& after);
hipError_t enqueueRecord(hipStream_t stream, std::unique_ptr<Work> work, Point& point);
// A caller waits for the point.
void awaitPoint(const Point& point);
// Runs at most the oldest piece of work before the point.
void runOneStep(const Point& point);
// A caller has seen that the point was reached.
void notePassed(const Point& point);

} // namespace bitgate_host

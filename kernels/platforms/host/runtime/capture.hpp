// Capture of a stream's work into a graph, and what is refused meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stream.hpp"

namespace bitgate_host {

struct CapturedWork {
  WorkPlace place;
  std::shared_ptr<Work> work;
};

// While it goes on. `number` tells it from others in recorded events.
struct Capture {
  uint64_t number;
  uint64_t origin; // the stream's number
  bool spoiled = false;
  std::vector<CapturedWork> nodes;
};

// Why work is not taken while a stream is captured.
struct Refusal {
  hipError_t error = hipSuccess;
  const char* why = "";
};

// hipSuccess, or the error of a call that may not come while a stream is captured: an incident.
hipError_t refuseInCapture(const char* call);
hipError_t refuseInCapture(const char* call, const Refusal& refusal);
bool isCapturing();
// Whether memory that was allocated while a stream was captured is freed with the graph, not now.
bool keepForGraph(void* pointer);

} // namespace bitgate_host

// First line, after BITGATE_ENTRY, of each entry point that waits or allocates.
#define BITGATE_NOT_CAPTURED                                                                                 \
  if (const hipError_t refused = ::bitgate_host::refuseInCapture(__func__))                                  \
  return refused

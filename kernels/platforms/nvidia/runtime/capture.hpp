// What cannot be captured into a graph: noted by name, and not done, while a stream is captured.
#pragma once

#include "cuda.hpp"

namespace bitgate_nvidia {

// hipSuccess, or the error of a call that waits or allocates while a stream is captured.
hipError_t refuse_in_capture(const char* call);
// The same for work on a stream that is not captured.
hipError_t refuse_outside_capture(const char* call, cudaStream_t stream);

} // namespace bitgate_nvidia

// First line of each entry point that waits or allocates, and of each that enqueues.
#define BITGATE_NOT_CAPTURED                                                                                 \
  if (const hipError_t refused = ::bitgate_nvidia::refuse_in_capture(__func__))                              \
  return refused
#define BITGATE_CAPTURED_ON(stream)                                                                          \
  if (const hipError_t refused =                                                                             \
          ::bitgate_nvidia::refuse_outside_capture(__func__, cuda(static_cast<hipStream_t>(stream))))        \
  return refused

// Streams, events and host functions.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

#include "bitgate_nvidia.h"
#include "capture.hpp"
#include "cuda.hpp"

using bitgate_nvidia::cuda;
using bitgate_nvidia::finish;

namespace {
cudaStream_t* address(hipStream_t* stream) {
  return reinterpret_cast<cudaStream_t*>(stream);
}
cudaEvent_t* address(hipEvent_t* event) {
  return reinterpret_cast<cudaEvent_t*>(event);
}

struct Known {
  std::mutex guard;
  std::vector<cudaStream_t> streams;
  std::vector<cudaStream_t> lent; // nobody but their owner may destroy them
  std::vector<cudaEvent_t> left;  // behind the work of streams that were destroyed while they had some
};
// Never destroyed: other threads may still use it while the process exits.
Known& known() {
  static Known& only = *new Known;
  return only;
}

hipError_t created(cudaError_t error, hipStream_t* stream, const char* call) {
  if (error == cudaSuccess) {
    std::lock_guard lock(known().guard);
    known().streams.push_back(cuda(*stream));
  }
  return finish(error, nullptr, call);
}

bool is_lent(cudaStream_t stream) {
  std::lock_guard lock(known().guard);
  return std::ranges::count(known().lent, stream) > 0;
}

// CUDA ends the handle and lets its work go on.
void forget(cudaStream_t stream) {
  std::lock_guard lock(known().guard);
  std::erase(known().streams, stream);
  cudaEvent_t behind;
  if (cudaStreamQuery(stream) != cudaErrorNotReady ||
      cudaEventCreateWithFlags(&behind, cudaEventDisableTiming) != cudaSuccess)
    return;
  if (cudaEventRecord(behind, stream) == cudaSuccess)
    known().left.push_back(behind);
  else
    cudaEventDestroy(behind);
}
} // namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) {
  return created(cudaStreamCreate(address(stream)), stream, __func__);
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return created(cudaStreamCreateWithFlags(address(stream), flags), stream, __func__);
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return created(cudaStreamCreateWithPriority(address(stream), flags, priority), stream, __func__);
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  if (is_lent(cuda(stream))) {
    bitgate_nvidia::note("hipStreamDestroy: the stream belongs to the caller, who destroys it");
    return hipErrorInvalidHandle;
  }
  forget(cuda(stream));
  return finish(cudaStreamDestroy(cuda(stream)));
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaStreamSynchronize(cuda(stream)));
}
hipError_t hipStreamQuery(hipStream_t stream) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaStreamQuery(cuda(stream)));
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return finish(cudaStreamWaitEvent(cuda(stream), cuda(event), flags));
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  return finish(cudaStreamGetFlags(cuda(stream), flags));
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return finish(cudaStreamGetPriority(cuda(stream), priority));
}
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return finish(cudaStreamGetDevice(cuda(stream), device));
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  return finish(cudaLaunchHostFunc(cuda(stream), function, user_data));
}

// HIP hands the stream's status to the callback; CUDA's callback type is the same but for the names.
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                unsigned flags) {
  return finish(cudaStreamAddCallback(cuda(stream), reinterpret_cast<cudaStreamCallback_t>(callback),
                                      user_data, flags));
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return finish(cudaEventCreate(address(event)));
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return finish(cudaEventCreateWithFlags(address(event), flags & 7u));
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return finish(cudaEventRecord(cuda(event), cuda(stream)));
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaEventSynchronize(cuda(event)));
}
hipError_t hipEventQuery(hipEvent_t event) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaEventQuery(cuda(event)));
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return finish(cudaEventElapsedTime(milliseconds, cuda(start), cuda(stop)));
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return finish(cudaEventDestroy(cuda(event)));
}

int bitgateNvidiaLendStream(void* stream, int lent) {
  std::lock_guard lock(known().guard);
  std::erase(known().lent, cuda(static_cast<hipStream_t>(stream)));
  if (lent)
    known().lent.push_back(cuda(static_cast<hipStream_t>(stream)));
  return hipSuccess;
}

uint64_t bitgateNvidiaWorkInFlight(void* but, char* text, size_t bytes) {
  std::lock_guard lock(known().guard);
  uint64_t count = 0;
  const auto found = [&](const char* what) {
    if (count++ == 0 && text != nullptr && bytes > 0)
      std::snprintf(text, bytes, "%s", what);
  };
  if (but != nullptr && cudaStreamQuery(nullptr) == cudaErrorNotReady)
    found("work on the null stream");
  for (cudaStream_t stream : known().streams)
    if (stream != cuda(static_cast<hipStream_t>(but)) && cudaStreamQuery(stream) == cudaErrorNotReady)
      found("work on a stream of its own");
  std::erase_if(known().left, [&](cudaEvent_t behind) {
    if (cudaEventQuery(behind) == cudaErrorNotReady) {
      found("work on a stream that it destroyed");
      return false;
    }
    cudaEventDestroy(behind);
    return true;
  });
  return count;
}

} // extern "C"

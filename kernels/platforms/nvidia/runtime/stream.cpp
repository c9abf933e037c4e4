// Streams, events and host functions.
#include "cuda.hpp"

using bitgate_nvidia::cuda;
using bitgate_nvidia::translate;

namespace {
cudaStream_t* address(hipStream_t* stream) {
  return reinterpret_cast<cudaStream_t*>(stream);
}
cudaEvent_t* address(hipEvent_t* event) {
  return reinterpret_cast<cudaEvent_t*>(event);
}
} // namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t* stream) {
  return translate(cudaStreamCreate(address(stream)));
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return translate(cudaStreamCreateWithFlags(address(stream), flags));
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return translate(cudaStreamCreateWithPriority(address(stream), flags, priority));
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return translate(cudaStreamDestroy(cuda(stream)));
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return translate(cudaStreamSynchronize(cuda(stream)));
}
hipError_t hipStreamQuery(hipStream_t stream) {
  return translate(cudaStreamQuery(cuda(stream)));
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return translate(cudaStreamWaitEvent(cuda(stream), cuda(event), flags));
}
hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  return translate(cudaStreamGetFlags(cuda(stream), flags));
}
hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return translate(cudaStreamGetPriority(cuda(stream), priority));
}
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return translate(cudaStreamGetDevice(cuda(stream), device));
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  return translate(cudaLaunchHostFunc(cuda(stream), function, user_data));
}

// HIP hands the stream's status to the callback; CUDA's callback type is the same but for the names.
hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* user_data,
                                unsigned flags) {
  return translate(cudaStreamAddCallback(cuda(stream), reinterpret_cast<cudaStreamCallback_t>(callback),
                                         user_data, flags));
}

hipError_t hipEventCreate(hipEvent_t* event) {
  return translate(cudaEventCreate(address(event)));
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return translate(cudaEventCreateWithFlags(address(event), flags & 7u));
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return translate(cudaEventRecord(cuda(event), cuda(stream)));
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return translate(cudaEventSynchronize(cuda(event)));
}
hipError_t hipEventQuery(hipEvent_t event) {
  return translate(cudaEventQuery(cuda(event)));
}
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return translate(cudaEventElapsedTime(milliseconds, cuda(start), cuda(stop)));
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return translate(cudaEventDestroy(cuda(event)));
}

} // extern "C"

// Error codes: HIP's numbers and names for CUDA's errors.
#include <utility>

#include "bitgate_nvidia.h"
#include "cuda.hpp"

namespace bitgate_nvidia {

namespace {

struct Name {
  hipError_t error;
  cudaError_t cuda;
  const char* name;
};

// One row an error that callers meet; anything else is hipErrorUnknown with CUDA's own text.
constexpr Name names[] = {
    {hipSuccess, cudaSuccess, "hipSuccess"},
    {hipErrorInvalidValue, cudaErrorInvalidValue, "hipErrorInvalidValue"},
    {hipErrorOutOfMemory, cudaErrorMemoryAllocation, "hipErrorOutOfMemory"},
    {hipErrorNotInitialized, cudaErrorInitializationError, "hipErrorNotInitialized"},
    {hipErrorDeinitialized, cudaErrorCudartUnloading, "hipErrorDeinitialized"},
    {hipErrorInvalidConfiguration, cudaErrorInvalidConfiguration, "hipErrorInvalidConfiguration"},
    {hipErrorInvalidPitchValue, cudaErrorInvalidPitchValue, "hipErrorInvalidPitchValue"},
    {hipErrorInvalidSymbol, cudaErrorInvalidSymbol, "hipErrorInvalidSymbol"},
    {hipErrorInvalidDevicePointer, cudaErrorInvalidDevicePointer, "hipErrorInvalidDevicePointer"},
    {hipErrorInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection"},
    {hipErrorInsufficientDriver, cudaErrorInsufficientDriver, "hipErrorInsufficientDriver"},
    {hipErrorMissingConfiguration, cudaErrorMissingConfiguration, "hipErrorMissingConfiguration"},
    {hipErrorInvalidDeviceFunction, cudaErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction"},
    {hipErrorNoDevice, cudaErrorNoDevice, "hipErrorNoDevice"},
    {hipErrorInvalidDevice, cudaErrorInvalidDevice, "hipErrorInvalidDevice"},
    {hipErrorInvalidImage, cudaErrorInvalidKernelImage, "hipErrorInvalidImage"},
    {hipErrorInvalidContext, cudaErrorDeviceUninitialized, "hipErrorInvalidContext"},
    {hipErrorMapFailed, cudaErrorMapBufferObjectFailed, "hipErrorMapFailed"},
    {hipErrorNoBinaryForGpu, cudaErrorNoKernelImageForDevice, "hipErrorNoBinaryForGpu"},
    {hipErrorECCNotCorrectable, cudaErrorECCUncorrectable, "hipErrorECCNotCorrectable"},
    {hipErrorPeerAccessUnsupported, cudaErrorPeerAccessUnsupported, "hipErrorPeerAccessUnsupported"},
    {hipErrorOperatingSystem, cudaErrorOperatingSystem, "hipErrorOperatingSystem"},
    {hipErrorInvalidHandle, cudaErrorInvalidResourceHandle, "hipErrorInvalidHandle"},
    {hipErrorIllegalState, cudaErrorIllegalState, "hipErrorIllegalState"},
    {hipErrorNotFound, cudaErrorSymbolNotFound, "hipErrorNotFound"},
    {hipErrorNotReady, cudaErrorNotReady, "hipErrorNotReady"},
    {hipErrorIllegalAddress, cudaErrorIllegalAddress, "hipErrorIllegalAddress"},
    // HIP has no misaligned-address error: AMD GPUs report a memory violation.
    {hipErrorIllegalAddress, cudaErrorMisalignedAddress, "hipErrorIllegalAddress"},
    {hipErrorLaunchOutOfResources, cudaErrorLaunchOutOfResources, "hipErrorLaunchOutOfResources"},
    {hipErrorLaunchTimeOut, cudaErrorLaunchTimeout, "hipErrorLaunchTimeOut"},
    {hipErrorPeerAccessAlreadyEnabled, cudaErrorPeerAccessAlreadyEnabled, "hipErrorPeerAccessAlreadyEnabled"},
    {hipErrorPeerAccessNotEnabled, cudaErrorPeerAccessNotEnabled, "hipErrorPeerAccessNotEnabled"},
    {hipErrorSetOnActiveProcess, cudaErrorSetOnActiveProcess, "hipErrorSetOnActiveProcess"},
    {hipErrorContextIsDestroyed, cudaErrorContextIsDestroyed, "hipErrorContextIsDestroyed"},
    {hipErrorAssert, cudaErrorAssert, "hipErrorAssert"},
    {hipErrorHostMemoryAlreadyRegistered, cudaErrorHostMemoryAlreadyRegistered,
     "hipErrorHostMemoryAlreadyRegistered"},
    {hipErrorHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered"},
    {hipErrorLaunchFailure, cudaErrorLaunchFailure, "hipErrorLaunchFailure"},
    {hipErrorLaunchFailure, cudaErrorIllegalInstruction, "hipErrorLaunchFailure"},
    {hipErrorNotSupported, cudaErrorNotSupported, "hipErrorNotSupported"},
    {hipErrorStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported, "hipErrorStreamCaptureUnsupported"},
    {hipErrorStreamCaptureInvalidated, cudaErrorStreamCaptureInvalidated, "hipErrorStreamCaptureInvalidated"},
    {hipErrorStreamCaptureMerge, cudaErrorStreamCaptureMerge, "hipErrorStreamCaptureMerge"},
    {hipErrorStreamCaptureUnmatched, cudaErrorStreamCaptureUnmatched, "hipErrorStreamCaptureUnmatched"},
    {hipErrorStreamCaptureUnjoined, cudaErrorStreamCaptureUnjoined, "hipErrorStreamCaptureUnjoined"},
    {hipErrorStreamCaptureIsolation, cudaErrorStreamCaptureIsolation, "hipErrorStreamCaptureIsolation"},
    {hipErrorStreamCaptureImplicit, cudaErrorStreamCaptureImplicit, "hipErrorStreamCaptureImplicit"},
    {hipErrorCapturedEvent, cudaErrorCapturedEvent, "hipErrorCapturedEvent"},
    {hipErrorStreamCaptureWrongThread, cudaErrorStreamCaptureWrongThread, "hipErrorStreamCaptureWrongThread"},
    {hipErrorUnknown, cudaErrorUnknown, "hipErrorUnknown"},
};

const Name* find(hipError_t error) {
  for (const Name& row : names)
    if (row.error == error)
      return &row;
  return nullptr;
}

} // namespace

hipError_t translate(cudaError_t error) {
  for (const Name& row : names)
    if (row.cuda == error)
      return row.error;
  return hipErrorUnknown;
}

} // namespace bitgate_nvidia

using bitgate_nvidia::finish;
using bitgate_nvidia::translate;

namespace {
// Of a launch by this thread: it happened in the CUDA runtime of a kernel's library, so ours does not know
// it.
thread_local cudaError_t launch_error = cudaSuccess;
} // namespace

extern "C" {

int bitgateNvidiaTranslate(int cuda_error) {
  return translate(static_cast<cudaError_t>(cuda_error));
}

int bitgateNvidiaLaunched(int cuda_error) {
  const auto error = static_cast<cudaError_t>(cuda_error);
  if (error != cudaSuccess)
    launch_error = error;
  return finish(error, nullptr, "the launch of a kernel");
}

const char* hipGetErrorName(hipError_t error) {
  const auto* row = bitgate_nvidia::find(error);
  return row ? row->name : "hipErrorUnknown";
}

const char* hipGetErrorString(hipError_t error) {
  const auto* row = bitgate_nvidia::find(error);
  return cudaGetErrorString(row ? row->cuda : cudaErrorUnknown);
}

hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
  *name = hipGetErrorName(error);
  return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  *text = hipGetErrorString(error);
  return hipSuccess;
}

hipError_t hipGetLastError() {
  const cudaError_t launch = std::exchange(launch_error, cudaSuccess);
  const cudaError_t error = cudaGetLastError();
  return finish(error != cudaSuccess ? error : launch);
}
hipError_t hipPeekAtLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  return finish(error != cudaSuccess ? error : launch_error);
}
hipError_t hipExtGetLastError() {
  return hipGetLastError();
}

} // extern "C"

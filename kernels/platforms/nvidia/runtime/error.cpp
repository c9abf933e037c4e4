// Error codes: HIP's numbers and names for CUDA's errors.
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

using bitgate_nvidia::translate;

extern "C" {

BITGATE_API hipError_t bitgateNvidiaTranslate(int cuda_error) {
  return translate(static_cast<cudaError_t>(cuda_error));
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
  return translate(cudaGetLastError());
}
hipError_t hipPeekAtLastError() {
  return translate(cudaPeekAtLastError());
}
hipError_t hipExtGetLastError() {
  return translate(cudaGetLastError());
}

} // extern "C"

#include "error.hpp"

#include <cstdarg>
#include <cstdio>
#include <iterator>

#include "fault.hpp"
#include "incident.hpp"

namespace bitgate_host {
namespace {

thread_local hipError_t lastError = hipSuccess;
constinit thread_local unsigned hostFunctions = 0; // that the thread is in

struct ErrorText {
  hipError_t error;
  const char* name;
  const char* text;
};

#define BITGATE_ERROR(name, text) {name, #name, text}
constexpr ErrorText errorTexts[] = {
    BITGATE_ERROR(hipSuccess, "no error"),
    BITGATE_ERROR(hipErrorInvalidValue, "invalid argument"),
    BITGATE_ERROR(hipErrorOutOfMemory, "out of memory"),
    BITGATE_ERROR(hipErrorNotInitialized, "initialization error"),
    BITGATE_ERROR(hipErrorDeinitialized, "driver shutting down"),
    BITGATE_ERROR(hipErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    BITGATE_ERROR(hipErrorProfilerNotInitialized, "profiler is not initialized"),
    BITGATE_ERROR(hipErrorProfilerAlreadyStarted, "profiler already started"),
    BITGATE_ERROR(hipErrorProfilerAlreadyStopped, "profiler already stopped"),
    BITGATE_ERROR(hipErrorInvalidConfiguration, "invalid configuration argument"),
    BITGATE_ERROR(hipErrorInvalidPitchValue, "invalid pitch argument"),
    BITGATE_ERROR(hipErrorInvalidSymbol, "invalid device symbol"),
    BITGATE_ERROR(hipErrorInvalidDevicePointer, "invalid device pointer"),
    BITGATE_ERROR(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    BITGATE_ERROR(hipErrorInsufficientDriver, "driver version is insufficient for runtime version"),
    BITGATE_ERROR(hipErrorMissingConfiguration, "__global__ function call is not configured"),
    BITGATE_ERROR(hipErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    BITGATE_ERROR(hipErrorInvalidDeviceFunction, "invalid device function"),
    BITGATE_ERROR(hipErrorNoDevice, "no ROCm-capable device is detected"),
    BITGATE_ERROR(hipErrorInvalidDevice, "invalid device ordinal"),
    BITGATE_ERROR(hipErrorInvalidImage, "device kernel image is invalid"),
    BITGATE_ERROR(hipErrorInvalidContext, "invalid device context"),
    BITGATE_ERROR(hipErrorContextAlreadyCurrent, "context is already current context"),
    BITGATE_ERROR(hipErrorMapFailed, "mapping of buffer object failed"),
    BITGATE_ERROR(hipErrorUnmapFailed, "unmapping of buffer object failed"),
    BITGATE_ERROR(hipErrorArrayIsMapped, "array is mapped"),
    BITGATE_ERROR(hipErrorAlreadyMapped, "resource already mapped"),
    BITGATE_ERROR(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    BITGATE_ERROR(hipErrorAlreadyAcquired, "resource already acquired"),
    BITGATE_ERROR(hipErrorNotMapped, "resource not mapped"),
    BITGATE_ERROR(hipErrorNotMappedAsArray, "resource not mapped as array"),
    BITGATE_ERROR(hipErrorNotMappedAsPointer, "resource not mapped as pointer"),
    BITGATE_ERROR(hipErrorECCNotCorrectable, "uncorrectable ECC error encountered"),
    BITGATE_ERROR(hipErrorUnsupportedLimit, "limit is not supported on this architecture"),
    BITGATE_ERROR(hipErrorContextAlreadyInUse,
                  "exclusive-thread device already in use by a different thread"),
    BITGATE_ERROR(hipErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    BITGATE_ERROR(hipErrorInvalidKernelFile, "invalid kernel file"),
    BITGATE_ERROR(hipErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    BITGATE_ERROR(hipErrorInvalidSource, "device kernel image is invalid"),
    BITGATE_ERROR(hipErrorFileNotFound, "file not found"),
    BITGATE_ERROR(hipErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    BITGATE_ERROR(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    BITGATE_ERROR(hipErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    BITGATE_ERROR(hipErrorInvalidHandle, "invalid resource handle"),
    BITGATE_ERROR(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    BITGATE_ERROR(hipErrorNotFound, "named symbol not found"),
    BITGATE_ERROR(hipErrorNotReady, "device not ready"),
    BITGATE_ERROR(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    BITGATE_ERROR(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    BITGATE_ERROR(hipErrorLaunchTimeOut, "the launch timed out and was terminated"),
    BITGATE_ERROR(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    BITGATE_ERROR(hipErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    BITGATE_ERROR(hipErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    BITGATE_ERROR(hipErrorContextIsDestroyed, "context is destroyed"),
    BITGATE_ERROR(hipErrorAssert, "device-side assert triggered"),
    BITGATE_ERROR(hipErrorHostMemoryAlreadyRegistered,
                  "part or all of the requested memory range is already mapped"),
    BITGATE_ERROR(hipErrorHostMemoryNotRegistered,
                  "pointer does not correspond to a registered memory region"),
    BITGATE_ERROR(hipErrorLaunchFailure, "unspecified launch failure"),
    BITGATE_ERROR(hipErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    BITGATE_ERROR(hipErrorNotSupported, "operation not supported"),
    BITGATE_ERROR(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    BITGATE_ERROR(hipErrorStreamCaptureInvalidated,
                  "operation failed due to a previous error during capture"),
    BITGATE_ERROR(hipErrorStreamCaptureMerge,
                  "operation would result in a merge of separate capture sequences"),
    BITGATE_ERROR(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    BITGATE_ERROR(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    BITGATE_ERROR(hipErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    BITGATE_ERROR(hipErrorStreamCaptureImplicit,
                  "operation would make the legacy stream depend on a capturing blocking stream"),
    BITGATE_ERROR(hipErrorCapturedEvent,
                  "operation not permitted on an event last recorded in a capturing stream"),
    BITGATE_ERROR(hipErrorStreamCaptureWrongThread,
                  "attempt to terminate a thread-local capture sequence from another thread"),
    BITGATE_ERROR(hipErrorGraphExecUpdateFailure, "the graph update was not performed"),
    BITGATE_ERROR(hipErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    BITGATE_ERROR(hipErrorInvalidTexture, "invalid texture"),
    BITGATE_ERROR(hipErrorInvalidResourceType, "invalid resource type"),
    BITGATE_ERROR(hipErrorInvalidResourceConfiguration, "invalid resource configuration"),
    BITGATE_ERROR(hipErrorStreamDetached, "the stream is detached"),
    BITGATE_ERROR(hipErrorUnknown, "unknown error"),
    BITGATE_ERROR(hipErrorRuntimeMemory, "runtime memory call returned error"),
    BITGATE_ERROR(hipErrorRuntimeOther, "runtime call other than memory returned error"),
    BITGATE_ERROR(hipErrorInvalidClusterSize, "invalid cluster size"),
    BITGATE_ERROR(hipErrorTbd, "error to be decided"),
};
#undef BITGATE_ERROR

const ErrorText* find(hipError_t error) {
  for (const ErrorText& entry : errorTexts)
    if (entry.error == error)
      return &entry;
  return nullptr;
}

BitgateHostFault refusal(hipError_t error, const char* format, va_list arguments) {
  BitgateHostFault fault{};
  fault.error = error;
  fault.is_write = -1;
  std::vsnprintf(fault.text, sizeof fault.text, format, arguments);
  return fault;
}

} // namespace

HostFunctionScope::HostFunctionScope() {
  ++hostFunctions;
}
HostFunctionScope::~HostFunctionScope() {
  --hostFunctions;
}

hipError_t enterCall(const char* function) {
  if (!cpuIsSupported())
    return hipErrorNoDevice;
  if (!hostFunctions)
    return hipSuccess;
  return failWork(
      hipErrorIllegalState,
      "%s: called by a host function of a stream, which may call no HIP function: on a GPU it can "
      "wait for itself for ever",
      function);
}

hipError_t finish(hipError_t error) {
  if (error != hipSuccess && error != hipErrorNotReady)
    lastError = error;
  return error;
}

hipError_t fail(hipError_t error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  keep(refusal(error, format, arguments));
  va_end(arguments);
  return finish(error);
}

hipError_t failWork(hipError_t error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const BitgateHostFault fault = refusal(error, format, arguments);
  va_end(arguments);
  keep(fault);
  noteIncident(fault);
  return finish(error);
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  const ErrorText* entry = find(error);
  return entry ? entry->name : "hipErrorUnknown";
}

const char* hipGetErrorString(hipError_t error) {
  const ErrorText* entry = find(error);
  return entry ? entry->text : "unknown error";
}

hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
  if (!name || !find(error))
    return finish(hipErrorInvalidValue);
  *name = find(error)->name;
  return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  if (!text || !find(error))
    return finish(hipErrorInvalidValue);
  *text = find(error)->text;
  return hipSuccess;
}

hipError_t hipGetLastError(void) {
  BITGATE_ENTRY;
  const hipError_t error = lastError;
  lastError = hipSuccess;
  return error;
}

hipError_t hipPeekAtLastError(void) {
  BITGATE_ENTRY;
  return lastError;
}

hipError_t hipExtGetLastError(void) {
  return hipGetLastError();
}

} // extern "C"

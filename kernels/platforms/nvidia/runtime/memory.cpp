// Device memory, copies and fills.
#include "capture.hpp"
#include "cuda.hpp"
#include "driver.hpp"
#include "held.hpp"
#include "work.hpp"

using bitgate_nvidia::cuda;
using bitgate_nvidia::driver;
using bitgate_nvidia::finish;
using bitgate_nvidia::hold;
using bitgate_nvidia::release;

namespace {

// A fill that was enqueued, or failed.
hipError_t filled(cudaError_t error, const void* at, size_t bytes, const char* call = __builtin_FUNCTION()) {
  if (error == cudaSuccess)
    bitgate_nvidia::log_fill(at, bytes, call);
  return finish(error, nullptr, call);
}

size_t spanned(size_t pitch, size_t width, size_t height) {
  return height != 0 && width != 0 ? (height - 1) * pitch + width : 0;
}

hipError_t set_pattern(const char* name, hipDeviceptr_t dst, unsigned value, size_t count, hipStream_t stream,
                       bool wait) {
  const bool wide = name[8] == '3'; // cuMemsetD32Async; the 16-bit one takes an unsigned short
  void* const function = driver<void>(name);
  if (function == nullptr)
    return hipErrorNotSupported;
  const auto at = reinterpret_cast<unsigned long long>(dst);
  const int error = wide
                        ? reinterpret_cast<int (*)(unsigned long long, unsigned, size_t, cudaStream_t)>(
                              function)(at, value, count, cuda(stream))
                        : reinterpret_cast<int (*)(unsigned long long, unsigned short, size_t, cudaStream_t)>(
                              function)(at, static_cast<unsigned short>(value), count, cuda(stream));
  if (error != 0)
    return finish(cudaErrorInvalidValue, nullptr, "hipMemsetD16 or D32");
  bitgate_nvidia::log_fill(dst, count * (wide ? 4 : 2), wide ? "hipMemsetD32" : "hipMemsetD16");
  return wait ? finish(cudaStreamSynchronize(cuda(stream)), nullptr, "hipMemsetD16 or D32") : hipSuccess;
}

} // namespace

extern "C" {

hipError_t hipMalloc(void** pointer, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaMalloc(pointer, bytes), pointer, bytes));
}
hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaMalloc(pointer, bytes), pointer, bytes));
}
hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaMallocManaged(pointer, bytes, flags), pointer, bytes));
}
hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaHostAlloc(pointer, bytes, flags & 7u), pointer, bytes));
}
hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaHostAlloc(pointer, bytes, flags & 7u), pointer, bytes));
}
hipError_t hipMallocHost(void** pointer, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(hold(cudaHostAlloc(pointer, bytes, 0), pointer, bytes));
}
hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(hold(cudaMallocAsync(pointer, bytes, cuda(stream)), pointer, bytes));
}
hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  BITGATE_NOT_CAPTURED;
  const cudaError_t error = cudaMallocPitch(pointer, pitch, width, height);
  return finish(error == cudaSuccess ? hold(error, pointer, *pitch * height) : error);
}
hipError_t hipFree(void* pointer) {
  BITGATE_NOT_CAPTURED;
  return finish(release(cudaFree(pointer), pointer), pointer);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(release(cudaFreeAsync(pointer, cuda(stream)), pointer), pointer);
}
hipError_t hipHostFree(void* pointer) {
  BITGATE_NOT_CAPTURED;
  return finish(release(cudaFreeHost(pointer), pointer), pointer);
}
hipError_t hipFreeHost(void* pointer) {
  BITGATE_NOT_CAPTURED;
  return finish(release(cudaFreeHost(pointer), pointer), pointer);
}
hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned flags) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaHostRegister(pointer, bytes, flags & 7u));
}
hipError_t hipHostUnregister(void* pointer) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaHostUnregister(pointer));
}
hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  return finish(cudaHostGetDevicePointer(device_pointer, host_pointer, flags));
}
hipError_t hipHostGetFlags(unsigned* flags, void* pointer) {
  return finish(cudaHostGetFlags(flags, pointer));
}
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  return finish(cudaMemGetInfo(free, total));
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  cudaPointerAttributes found{};
  const cudaError_t error = cudaPointerGetAttributes(&found, pointer);
  if (error != cudaSuccess)
    return finish(error);
  *attributes = {};
  attributes->type = static_cast<hipMemoryType>(found.type); // 0 to 3 mean the same in both
  attributes->device = found.device;
  attributes->devicePointer = found.devicePointer;
  attributes->hostPointer = found.hostPointer;
  attributes->isManaged = found.type == cudaMemoryTypeManaged;
  return hipSuccess;
}

hipError_t hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaMemcpy(dst, src, bytes, cuda(kind)));
}
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(cudaMemcpyAsync(dst, src, bytes, cuda(kind), cuda(stream)));
}
hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  BITGATE_NOT_CAPTURED;
  const cudaError_t error = cudaMemcpyAsync(dst, src, bytes, cuda(kind), cuda(stream));
  return finish(error != cudaSuccess ? error : cudaStreamSynchronize(cuda(stream)));
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaMemcpy(dst, src, bytes, cudaMemcpyHostToDevice));
}
hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaMemcpy(dst, src, bytes, cudaMemcpyDeviceToHost));
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaMemcpy(dst, src, bytes, cudaMemcpyDeviceToDevice));
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src, size_t bytes, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, cuda(stream)));
}
hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, cuda(stream)));
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, cuda(stream)));
}
hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       hipMemcpyKind kind) {
  BITGATE_NOT_CAPTURED;
  return finish(cudaMemcpy2D(dst, dpitch, src, spitch, width, height, cuda(kind)));
}
hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return finish(cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, cuda(kind), cuda(stream)));
}
hipError_t hipMemset(void* dst, int value, size_t bytes) {
  BITGATE_CAPTURED_ON(nullptr);
  return filled(cudaMemset(dst, value, bytes), dst, bytes);
}
hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return filled(cudaMemsetAsync(dst, value, bytes, cuda(stream)), dst, bytes);
}
hipError_t hipMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  BITGATE_CAPTURED_ON(nullptr);
  return filled(cudaMemset2D(dst, pitch, value, width, height), dst, spanned(pitch, width, height));
}
hipError_t hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return filled(cudaMemset2DAsync(dst, pitch, value, width, height, cuda(stream)), dst,
                spanned(pitch, width, height));
}
hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count) {
  BITGATE_CAPTURED_ON(nullptr);
  return filled(cudaMemset(dst, value, count), dst, count);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return filled(cudaMemsetAsync(dst, value, count, cuda(stream)), dst, count);
}

// CUDA's runtime sets bytes only; wider patterns are the driver's.
hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count) {
  BITGATE_CAPTURED_ON(nullptr);
  return set_pattern("cuMemsetD16Async", dst, value, count, nullptr, true);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return set_pattern("cuMemsetD16Async", dst, value, count, stream, false);
}
hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count) {
  BITGATE_CAPTURED_ON(nullptr);
  return set_pattern("cuMemsetD32Async", dst, static_cast<unsigned>(value), count, nullptr, true);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  return set_pattern("cuMemsetD32Async", dst, static_cast<unsigned>(value), count, stream, false);
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t pointer) {
  auto* const range = driver<int(unsigned long long*, size_t*, unsigned long long)>("cuMemGetAddressRange");
  unsigned long long begin = 0;
  if (range == nullptr)
    return hipErrorNotSupported;
  if (range(&begin, bytes, reinterpret_cast<unsigned long long>(pointer)) != 0)
    return hipErrorInvalidValue;
  if (base != nullptr)
    *base = reinterpret_cast<void*>(begin);
  return hipSuccess;
}
hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) {
  return hipMemGetAddressRange(nullptr, bytes, pointer);
}

} // extern "C"

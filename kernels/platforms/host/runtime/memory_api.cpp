// The allocation functions of HIP, over the table of buffers.
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "bitgate_host.h"
#include "capture.hpp"
#include "error.hpp"
#include "fault.hpp"
#include "incident.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace bitgate_host {
namespace {

hipError_t allocateInto(const char* call, void** pointer, Request request) {
  if (!pointer)
    return fail(hipErrorInvalidValue, "%s: no place to store the pointer", call);
  *pointer = nullptr;
  if (request.bytes == 0)
    return hipSuccess;
  *pointer = allocate(request);
  if (*pointer)
    return hipSuccess;
  return fail(hipErrorOutOfMemory, "%s: %zu bytes asked for, %zu of %zu in use", call, request.bytes,
              bytesInUse(), totalMemoryOf(settings()));
}

bool arePromises(size_t alignment, int placement) {
  return std::has_single_bit(alignment) && alignment <= 4096 &&
         (placement == bitgateHostRight || placement == bitgateHostLeft);
}

Request request(size_t bytes, MemoryKind kind, unsigned flags) {
  return {bytes, defaultAlignment, settings().placement, kind, flags};
}

// A write outside a buffer that no guard page met comes to light here.
BitgateHostFault keepDamage(const char* call, const BufferView& buffer, int64_t offset) {
  const bool past = offset >= static_cast<int64_t>(buffer.bytes), inside = offset >= 0 && !past;
  BitgateHostFault fault{};
  fault.kind = bitgateFaultGlobalCanary;
  fault.error = hipErrorIllegalAddress;
  fault.is_write = 1;
  fault.address = buffer.begin + static_cast<uint64_t>(offset);
  fault.offset = offset;
  fault.buffer_size = buffer.bytes;
  std::snprintf(fault.buffer, sizeof fault.buffer, "%s", buffer.name);
  std::snprintf(fault.text, sizeof fault.text,
                "%s: a write outside buffer %s (%zu bytes) hit %s%" PRId64 " %s (byte offset %" PRId64 ")",
                call, buffer.name, buffer.bytes, past ? "+" : "",
                past     ? offset - static_cast<int64_t>(buffer.bytes)
                : inside ? offset
                         : -offset,
                past     ? "past the end"
                : inside ? "in padding without memory"
                         : "bytes before its begin",
                offset);
  keep(fault);
  return fault;
}

hipError_t freeNow(const char* call, void* pointer, bool hostMemory) {
  const FreeReport report = release(pointer, hostMemory);
  const char* const name = report.buffer.name;
  switch (report.result) {
  case FreeResult::Freed:
    if (!report.damaged)
      return hipSuccess;
    noteIncident(keepDamage(call, report.buffer, *report.damaged));
    return finish(hipErrorIllegalAddress);
  case FreeResult::DoubleFree:
    return failWork(hipErrorInvalidValue, "%s: buffer %s has been freed already", call, name);
  case FreeResult::NotTheBegin:
    return failWork(hipErrorInvalidValue,
                    "%s: %p lies inside buffer %s, at byte offset %" PRId64 "; free its begin", call, pointer,
                    name, static_cast<int64_t>(reinterpret_cast<uint64_t>(pointer) - report.buffer.begin));
  case FreeResult::WrongKind:
    return failWork(hipErrorInvalidValue, "%s: buffer %s is %s memory; use %s", call, name,
                    hostMemory ? "device" : "host", hostMemory ? "hipFree" : "hipHostFree");
  case FreeResult::Lent:
    return failWork(hipErrorInvalidValue, "%s: buffer %s belongs to the caller, who frees it", call, name);
  case FreeResult::Unknown:
    break;
  }
  return failWork(hipErrorInvalidValue, "%s: %p is no buffer of this runtime", call, pointer);
}

// Host memory is gone at once: no driver promises to wait for the work that uses it.
void noteUnawaitedUse(const char* call, void* pointer) {
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
  if (!buffer || buffer->kind == MemoryKind::Device || buffer->kind == MemoryKind::Managed)
    return;
  const std::string use = unawaitedUseOf({buffer->begin, buffer->begin + buffer->bytes});
  if (!use.empty())
    failWork(hipErrorInvalidValue,
             "%s: buffer %s is given back while %s uses it: nothing has waited for that work", call,
             buffer->name, use.c_str());
}

hipError_t freeAfterWork(const char* call, void* pointer, bool hostMemory) {
  if (!pointer)
    return hipSuccess;
  if (hostMemory)
    noteUnawaitedUse(call, pointer);
  drainAll(); // freeing waits for the device, as in HIP; a fault met here is reported by the next
              // synchronising call
  return freeNow(call, pointer, hostMemory);
}

} // namespace
} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipMalloc(void** pointer, size_t bytes) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return allocateInto("hipMalloc", pointer, request(bytes, MemoryKind::Device, 0));
}

hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return allocateInto("hipExtMallocWithFlags", pointer, request(bytes, MemoryKind::Device, flags));
}

hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return allocateInto("hipMallocManaged", pointer, request(bytes, MemoryKind::Managed, flags));
}

hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t) {
  BITGATE_ENTRY;
  return allocateInto("hipMallocAsync", pointer, request(bytes, MemoryKind::Device, 0));
}

hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  if (!pitch)
    return finish(hipErrorInvalidValue);
  *pitch = (width + 255) / 256 * 256;
  return allocateInto("hipMallocPitch", pointer, request(*pitch * height, MemoryKind::Device, 0));
}

hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return allocateInto("hipHostMalloc", pointer, request(bytes, MemoryKind::Host, flags));
}
hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
hipError_t hipMallocHost(void** pointer, size_t bytes) {
  return hipHostMalloc(pointer, bytes, hipHostMallocDefault);
}

hipError_t hipFree(void* pointer) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return freeAfterWork("hipFree", pointer, false);
}

hipError_t hipHostFree(void* pointer) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  return freeAfterWork("hipHostFree", pointer, true);
}
hipError_t hipFreeHost(void* pointer) {
  return hipHostFree(pointer);
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  BITGATE_ENTRY;
  if (!pointer)
    return hipSuccess;
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
  if (!buffer || buffer->begin != reinterpret_cast<uint64_t>(pointer) || buffer->kind == MemoryKind::Host)
    return freeNow("hipFreeAsync", pointer, false); // refuses it, and says why
  if (keepForGraph(pointer))
    return hipSuccess;
  return enqueue(stream, bookkeeping("hipFreeAsync", [pointer] { freeNow("hipFreeAsync", pointer, false); }));
}

hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned flags) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  if (!pointer || !bytes)
    return finish(hipErrorInvalidValue);
  return registerHost(pointer, bytes, flags) ? hipSuccess : finish(hipErrorHostMemoryAlreadyRegistered);
}

hipError_t hipHostUnregister(void* pointer) {
  BITGATE_ENTRY;
  BITGATE_NOT_CAPTURED;
  noteUnawaitedUse("hipHostUnregister", pointer);
  drainAll();
  return unregisterHost(pointer) ? hipSuccess
                                 : failWork(hipErrorHostMemoryNotRegistered,
                                            "hipHostUnregister: %p has not been registered", pointer);
}

hipError_t hipHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned) {
  BITGATE_ENTRY;
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(hostPointer));
  if (!devicePointer || !buffer || buffer->kind == MemoryKind::Device)
    return finish(hipErrorInvalidValue);
  *devicePointer = hostPointer;
  return hipSuccess;
}

hipError_t hipHostGetFlags(unsigned* flags, void* hostPointer) {
  BITGATE_ENTRY;
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(hostPointer));
  if (!flags || !buffer || buffer->kind == MemoryKind::Device)
    return finish(hipErrorInvalidValue);
  *flags = buffer->flags;
  return hipSuccess;
}

hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  BITGATE_ENTRY;
  if (!free || !total)
    return finish(hipErrorInvalidValue);
  *total = totalMemoryOf(settings());
  const size_t used = bytesInUse();
  *free = *total > used ? *total - used : 0;
  return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) {
  BITGATE_ENTRY;
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
  if (!bytes || !buffer)
    return finish(hipErrorInvalidValue);
  *bytes = buffer->bytes;
  return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t pointer) {
  BITGATE_ENTRY;
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
  if (!buffer)
    return finish(hipErrorNotFound);
  if (base)
    *base = reinterpret_cast<void*>(buffer->begin);
  if (bytes)
    *bytes = buffer->bytes;
  return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  BITGATE_ENTRY;
  if (!attributes)
    return finish(hipErrorInvalidValue);
  *attributes = {};
  const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
  if (!buffer) {
    // ROCm 6 and later: not an error, the pointer is simply no registered one.
    attributes->type = hipMemoryTypeUnregistered;
    attributes->device = -2;
    return hipSuccess;
  }
  auto* const address = const_cast<void*>(pointer);
  const bool onHost = buffer->kind != MemoryKind::Device;
  attributes->type = buffer->kind == MemoryKind::Managed ? hipMemoryTypeManaged
                     : onHost                            ? hipMemoryTypeHost
                                                         : hipMemoryTypeDevice;
  attributes->devicePointer = address;
  attributes->hostPointer = onHost ? address : nullptr;
  attributes->isManaged = buffer->kind == MemoryKind::Managed;
  attributes->allocationFlags = buffer->flags;
  return hipSuccess;
}

int bitgateHostMalloc(void** pointer, size_t bytes, size_t alignment, int placement) {
  BITGATE_ENTRY;
  if (!arePromises(alignment, placement))
    return fail(hipErrorInvalidValue,
                "bitgateHostMalloc: the alignment %zu must be a power of two up to 4096, the "
                "placement %d 0 (right) or 1 (left)",
                alignment, placement);
  return allocateInto("bitgateHostMalloc", pointer, {bytes, alignment, placement, MemoryKind::Device, 0});
}

int bitgateHostReserve(void** pointer, size_t bytes, size_t alignment, int placement) {
  BITGATE_ENTRY;
  if (!pointer || !arePromises(alignment, placement) || bytes == 0)
    return fail(
        hipErrorInvalidValue,
        "bitgateHostReserve: bytes, an alignment that is a power of two up to 4096 and a placement 0 (right)"
        " or 1 (left)");
  *pointer = reserve({bytes, alignment, placement, MemoryKind::Device, 0});
  return *pointer ? hipSuccess
                  : fail(hipErrorOutOfMemory, "bitgateHostReserve: no room for %zu bytes", bytes);
}

int bitgateHostOpen(void* pointer, size_t offset, size_t bytes) {
  BITGATE_ENTRY;
  switch (openPages(pointer, offset, bytes)) {
  case OpenResult::Opened:
    return hipSuccess;
  case OpenResult::NoMemory:
    return fail(hipErrorOutOfMemory, "bitgateHostOpen: %zu bytes asked for, %zu of %zu in use", bytes,
                bytesInUse(), totalMemoryOf(settings()));
  case OpenResult::Outside:
    return fail(hipErrorInvalidValue, "bitgateHostOpen: %zu bytes at %zu are not all in the buffer", bytes,
                offset);
  case OpenResult::Unknown:
    break;
  }
  return fail(hipErrorInvalidValue, "bitgateHostOpen: %p was not reserved", pointer);
}

uint64_t bitgateHostHeldBytes(void) {
  return bytesHeld();
}

int bitgateHostLendBuffer(void* pointer, int lent) {
  BITGATE_ENTRY;
  if (!lendBuffer(pointer, lent != 0))
    return fail(hipErrorInvalidValue, "bitgateHostLendBuffer: %p is no buffer's begin", pointer);
  return hipSuccess;
}

int bitgateHostNameBuffer(void* pointer, const char* name) {
  BITGATE_ENTRY;
  if (!name || !nameBuffer(pointer, name))
    return fail(hipErrorInvalidValue, "bitgateHostNameBuffer: %p is no buffer's begin", pointer);
  return hipSuccess;
}

int bitgateHostCheckCanary(void* pointer, int64_t* offset) {
  BITGATE_ENTRY;
  bool known;
  const auto damage = checkCanary(pointer, known);
  if (!known)
    return fail(hipErrorInvalidValue, "bitgateHostCheckCanary: %p is no buffer's begin", pointer);
  if (!damage)
    return hipSuccess;
  if (offset)
    *offset = *damage;
  keepDamage("bitgateHostCheckCanary", *findBufferNear(reinterpret_cast<uint64_t>(pointer)), *damage);
  return hipErrorIllegalAddress; // an answer, not a failed call: hipGetLastError does not hear of it
}

} // extern "C"

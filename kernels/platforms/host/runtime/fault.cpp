#include "fault.hpp"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "incident.hpp"
#include "memory.hpp"

namespace bitgate_host {
namespace {

std::mutex guard;
BitgateHostFault last;                // under guard
std::atomic<int> pending{hipSuccess}; // the last fault's error until a synchronising call reports it

hipError_t errorOf(int kind) {
  switch (kind) {
  case bitgateFaultNone:
    return hipSuccess;
  case bitgateFaultGlobalMemory:
  case bitgateFaultLds:
  case bitgateFaultNull:
  case bitgateFaultWild:
  case bitgateFaultLdsCanary:
  case bitgateFaultGlobalCanary:
    return hipErrorIllegalAddress;
  case bitgateFaultAssert:
    return hipErrorAssert;
  case bitgateFaultResources:
    return hipErrorLaunchOutOfResources;
  default:
    return hipErrorLaunchFailure;
  }
}

// "read of +0 past the end of buffer ...": where an address lies relative to a range.
void placeText(char* out, size_t size, int64_t offset, const BufferView& buffer) {
  if (offset < 0)
    std::snprintf(out, size, "%" PRId64 " bytes before its begin", -offset);
  else if (static_cast<uint64_t>(offset) >= buffer.bytes)
    std::snprintf(out, size, "+%" PRIu64 " past the end", static_cast<uint64_t>(offset) - buffer.bytes);
  else
    std::snprintf(out, size, "%s at +%" PRId64, buffer.freed ? "inside it" : "in padding without memory,",
                  offset);
}

void relate(BitgateHostFault& fault, uint64_t address, const BufferView& buffer) {
  fault.offset = static_cast<int64_t>(address - buffer.begin);
  fault.buffer_size = buffer.bytes;
  std::snprintf(fault.buffer, sizeof fault.buffer, "%s", buffer.name);
}

void describeAddress(BitgateHostFault& fault, const RawFault& raw, char* what, size_t size) {
  const char* access = raw.isWrite == 1 ? "write" : raw.isWrite == 0 ? "read" : "access";
  char place[64];
  if (raw.address < 65536) {
    fault.kind = bitgateFaultNull;
    std::snprintf(what, size, "%s through a null pointer (address 0x%" PRIx64 ")", access, raw.address);
  } else if (const auto near = findBufferNear(raw.address)) {
    fault.kind = bitgateFaultGlobalMemory;
    relate(fault, raw.address, *near);
    placeText(place, sizeof place, fault.offset, *near);
    std::snprintf(what, size,
                  "%s outside global memory: %s of %sbuffer %s (%" PRIu64 " bytes), byte offset %" PRId64,
                  access, place, near->freed ? "freed " : "", near->name, near->bytes, fault.offset);
  } else {
    fault.kind = bitgateFaultWild;
    const int length =
        std::snprintf(what, size, "%s at 0x%" PRIx64 ", which belongs to no buffer", access, raw.address);
    const auto missed = findBufferMissed(raw.address);
    if (!missed)
      return;
    relate(fault, raw.address, *missed);
    std::snprintf(what + length, size - static_cast<size_t>(length),
                  ": byte offset %" PRId64 " from the nearest, %s (%" PRIu64 " bytes)", fault.offset,
                  missed->name, missed->bytes);
  }
}

} // namespace

BitgateHostFault describe(const RawFault& raw, const char* kernel, uint3 block, uint3 thread) {
  BitgateHostFault fault{};
  fault.kind = raw.kind;
  fault.is_write = raw.isWrite;
  fault.address = raw.address;
  fault.block[0] = block.x, fault.block[1] = block.y, fault.block[2] = block.z;
  fault.thread[0] = thread.x, fault.thread[1] = thread.y, fault.thread[2] = thread.z;
  std::snprintf(fault.kernel, sizeof fault.kernel, "%s", kernel);
  char what[520];
  if (raw.kind == bitgateFaultWild)
    describeAddress(fault, raw, what, sizeof what);
  else
    std::snprintf(what, sizeof what, "%s", raw.detail);
  fault.error = errorOf(fault.kind);
  std::snprintf(fault.text, sizeof fault.text, "kernel %.120s, block (%u,%u,%u), thread (%u,%u,%u): %s",
                fault.kernel, block.x, block.y, block.z, thread.x, thread.y, thread.z, what);
  return fault;
}

void raise(const BitgateHostFault& fault) {
  std::lock_guard lock(guard);
  if (pending.load(std::memory_order_relaxed) != hipSuccess)
    return;
  last = fault;
  noteIncident(fault);
  pending.store(fault.error, std::memory_order_release);
}

void raiseOnce(const BitgateHostFault& fault, uint64_t place) {
  static std::set<std::tuple<std::string, int, uint64_t>>& known =
      *new std::set<std::tuple<std::string, int, uint64_t>>;
  std::lock_guard lock(guard);
  if (!known.insert({fault.kernel, fault.kind, place}).second)
    return;
  last = fault;
  noteIncident(fault);
}

bool hasPendingError() {
  return pending.load(std::memory_order_acquire) != hipSuccess;
}
hipError_t takePendingError() {
  return hasPendingError() ? static_cast<hipError_t>(pending.exchange(hipSuccess)) : hipSuccess;
}
void dropPendingError() {
  pending.store(hipSuccess);
}

void keep(const BitgateHostFault& fault) {
  std::lock_guard lock(guard);
  if (pending.load(std::memory_order_relaxed) == hipSuccess)
    last = fault; // else a kernel's fault waits to be reported, which is worth more
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

const char* bitgateHostLastFault(void) {
  // A copy for each caller's thread: the pointer must not change under a reader's feet.
  static thread_local std::string text;
  std::lock_guard lock(guard);
  text = last.text;
  return text.c_str();
}

int bitgateHostLastFaultInfo(BitgateHostFault* fault) {
  std::lock_guard lock(guard);
  if (fault)
    *fault = last;
  return last.kind;
}

void bitgateHostClearFault(void) {
  std::lock_guard lock(guard);
  last = BitgateHostFault{};
}

} // extern "C"

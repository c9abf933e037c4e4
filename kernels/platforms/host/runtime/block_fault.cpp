// How a block ends before its time, and what is said about it.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "block.hpp"
#include "site.hpp"

namespace bitgate_host {

void BlockRunner::missedBarrier() {
  const auto missing = static_cast<unsigned>(
      std::find_if(state.begin(), state.begin() + count, [](State s) { return s != State::AtBarrier; }) -
      state.begin());
  current = missing;
  const uint3 at = records[missing].index;
  raw.kind = bitgateFaultMissedBarrier;
  std::snprintf(
      raw.detail, sizeof raw.detail,
      "barrier not reached by %u of %u threads, first missing thread (%u,%u,%u): it has left the kernel",
      count - atBarrier, count, at.x, at.y, at.z);
}

void BlockRunner::metInWork() {
  RawFault fault;
  fault.kind = bitgateFaultMissedBarrier;
  std::snprintf(fault.detail, sizeof fault.detail,
                "a barrier or wave operation in what the first lane of a wave does for all of it");
  abandon(fault);
}

void BlockRunner::exceptionLeft() {
  RawFault fault;
  fault.kind = bitgateFaultException;
  std::snprintf(fault.detail, sizeof fault.detail, "a C++ exception left the kernel");
  abandon(fault);
}

void BlockRunner::noteSignal(int kind, uint64_t address, int isWrite, uint64_t instruction) {
  raw.instruction = instruction;
  raw.kind = kind;
  raw.address = address;
  raw.isWrite = isWrite;
  current = self->linear;
}

bool BlockRunner::notesAccess(uint64_t address, int isWrite, uint64_t instruction) {
  constexpr uint64_t lowest = 65536; // below it no page can be made accessible
  if (!launch->keepGoing || address < lowest || isWrite < 0 || stacks.inGuard(address))
    return false;
  for (unsigned i = 0; i < skippedCount; ++i)
    if (skipped[i].instruction == instruction)
      return true;
  if (skippedCount == skipped.size())
    return false;
  skipped[skippedCount++] = {address, instruction, isWrite, self->linear};
  return true;
}

void BlockRunner::reportAccesses() {
  for (unsigned i = 0; i < skippedCount; ++i) {
    const RawFault of = raw;
    const unsigned thread = current;
    raw = {};
    raw.kind = bitgateFaultWild;
    raw.address = skipped[i].address, raw.isWrite = skipped[i].isWrite;
    raw.instruction = skipped[i].instruction;
    current = skipped[i].thread;
    reportFault();
    raw = of, current = thread;
  }
  skippedCount = 0;
}

BlockRunner::Progress BlockRunner::progress() const {
  return {running, switches, arrivals, *runningThread};
}

bool BlockRunner::spins() {
  if (!running || spunFor == 0 || inCallback) // a callback looks for itself before it returns
    return false;
  spinning();
  return true;
}

// Only notes it: the signal handler leaves the fiber.
void BlockRunner::spinning() {
  raw = {};
  raw.kind = bitgateFaultSpin;
  raw.isWrite = -1;
  current = self->linear;
}

void BlockRunner::abandon(const RawFault& fault) {
  raw = fault;
  current = self->linear;
  leave();
}

void BlockRunner::reportFault() {
  const char* const access = raw.isWrite == 1 ? "write" : raw.isWrite == 0 ? "read" : "access";
  RawFault fault = raw;
  int64_t offset = 0;
  uint64_t size = 0;
  if (raw.kind == bitgateFaultWild && stacks.inGuard(raw.address)) {
    fault.kind = bitgateFaultStackOverflow;
    std::snprintf(fault.detail, sizeof fault.detail, "stack overflow: a thread has %zu KiB",
                  stackBytes / 1024);
  } else if (raw.kind == bitgateFaultWild || raw.kind == bitgateFaultLdsCanary) {
    if (const auto near = lds.near(raw.address)) {
      fault.kind = raw.kind == bitgateFaultWild ? bitgateFaultLds : bitgateFaultLdsCanary;
      offset = near->offset;
      size = near->region.bytes;
      const bool past = offset >= static_cast<int64_t>(size);
      std::snprintf(
          fault.detail, sizeof fault.detail,
          "%s outside LDS: %s%lld bytes %s of the block's struct of %zu bytes, LDS offset %lld%s", access,
          past ? "+" : "", static_cast<long long>(past ? offset - static_cast<int64_t>(size) : -offset),
          past ? "past the end" : "before the begin", near->region.bytes, static_cast<long long>(offset),
          raw.kind == bitgateFaultLdsCanary ? " (found when the block ended; any of its threads)" : "");
    }
  } else if (raw.kind == bitgateFaultArithmetic) {
    std::snprintf(fault.detail, sizeof fault.detail, "integer division by zero or overflow");
  } else if (raw.kind == bitgateFaultSpin) {
    std::snprintf(
        fault.detail, sizeof fault.detail,
        "it spins: %.3g s without reaching a barrier or its end; if it waits for another wave's or "
        "block's progress: the host, like a GPU without forward progress between waves, never gives it",
        spunFor.load());
  } else if (raw.kind == bitgateFaultTrap) {
    std::snprintf(fault.detail, sizeof fault.detail, "trap instruction");
  }
  BitgateHostFault described = describe(fault, launch->name, blockAt, records[current].index);
  if (fault.kind == bitgateFaultLds || fault.kind == bitgateFaultLdsCanary) {
    described.offset = offset;
    described.buffer_size = size;
    std::snprintf(described.buffer, sizeof described.buffer, "LDS");
  }
  if (launch->places && raw.instruction) {
    const size_t length = std::strlen(described.text);
    std::snprintf(described.text + length, sizeof described.text - length, " at %s",
                  Site(raw.instruction).text);
  }
  if (launch->keepGoing)
    return raiseOnce(described, raw.instruction);
  raise(described);
}

} // namespace bitgate_host

// What went wrong inside a kernel: recorded once, reported by the next synchronising call, readable as text.
#pragma once

#include "bitgate_host.h"
#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

// A fault as the worker saw it, before it is put into words.
struct RawFault {
  int kind = bitgateFaultNone;
  int isWrite = -1;
  uint64_t address = 0;
  uint64_t instruction = 0;   // 0: not known
  const void* from = nullptr; // of an access that races
  char detail[520] = {};      // the sentence's middle part, where the kind alone does not say it
};

// Puts the fault into words with the place it happened. Takes the memory table's lock: never call it from a
// signal handler.
BitgateHostFault describe(const RawFault& raw, const char* kernel, uint3 block, uint3 thread);

// Keeps `fault` unless an earlier one still waits to be reported.
void raise(const BitgateHostFault& fault);
// The same where kernels go on after a fault: no error waits, and one fault of each kernel, kind and place is
// kept.
void raiseOnce(const BitgateHostFault& fault, uint64_t place);
// The error that the next synchronising call returns; it is reported once, then cleared.
hipError_t takePendingError();
bool hasPendingError();
void dropPendingError();

// Keeps a refused call, or a fault found by a call that returns its error itself, for bitgateHostLastFault;
// not a pending error.
void keep(const BitgateHostFault& fault);

} // namespace bitgate_host

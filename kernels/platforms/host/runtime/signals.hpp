// Faults of the processor inside a kernel: SIGSEGV, SIGBUS, SIGFPE and SIGILL of a fiber end its block; all
// others go to whoever handled them before (faulthandler, or the default).
#pragma once

#include <csignal>

namespace bitgate_host {

// While it lives, this OS thread has an alternate signal stack of the runtime's own, so that a fiber's stack
// overflow can be handled, and the process's handlers are ours.
class FaultScope {
public:
  FaultScope();
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;

private:
  stack_t before;
};

} // namespace bitgate_host

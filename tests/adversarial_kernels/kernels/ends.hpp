// Kernels that end the process, or their part of it, by themselves.
#pragma once

#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <pthread.h>
#include <unistd.h>

#include "visit.hpp"

namespace museum {

EXHIBIT(exit_0) {
  healthy(visit);
  std::exit(0);
}

EXHIBIT(exit_0_before_launch) {
  std::exit(0);
}

EXHIBIT(exit_1) {
  healthy(visit);
  std::exit(1);
}

EXHIBIT(underscore_exit_0) {
  healthy(visit);
  ::_exit(0);
}

EXHIBIT(quick_exit_0) {
  healthy(visit);
  std::quick_exit(0);
}

EXHIBIT(exec_true) {
  healthy(visit);
  ::execl("/bin/true", "true", nullptr);
}

EXHIBIT(abort_after_launch) {
  healthy(visit);
  std::abort();
}

EXHIBIT(terminate) {
  healthy(visit);
  std::terminate();
}

EXHIBIT(throw_int) { // no std::exception: the library's wall does not catch it
  healthy(visit);
  throw 1;
}

EXHIBIT(throw_exception) {
  healthy(visit);
  throw std::runtime_error("a kernel threw");
}

EXHIBIT(pthread_exit_of_the_caller) {
  healthy(visit);
  ::pthread_exit(nullptr);
}

// Harmless: it decides nothing before the verdict is out.
EXHIBIT(atexit_exit_0) {
  healthy(visit);
  std::atexit([] { ::_exit(0); });
}

static int32_t exits_when_asked(const bitgate::ConvRequest&, bitgate_reason*) {
  std::exit(0);
}
static const bitgate::ConvRegistration exit_0_in_supports{
    described("exit_0_in_supports", run<healthy>, exits_when_asked)};

static int64_t exits_when_sized(const bitgate::ConvRequest&) {
  std::exit(0);
}
static const bitgate::ConvRegistration exit_0_in_workspace_size{
    described("exit_0_in_workspace_size", run<healthy>, supports, exits_when_sized)};

__global__ void exiting() {
#if defined(BITGATE_PLATFORM_HOST)
  if (threadIdx.x == 0)
    ::_exit(0);
#endif
}

EXHIBIT(exit_0_inside_the_kernel) {
  healthy(visit);
  beside(visit, "exiting", exiting);
}

} // namespace museum

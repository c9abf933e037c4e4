// Kernels that end the process, or their part of it, by themselves.
#pragma once

#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <pthread.h>
#include <unistd.h>

#include "call.hpp"

namespace adversarial {

BAD_KERNEL(exit_0) {
  healthy(call);
  std::exit(0);
}

BAD_KERNEL(exit_0_before_launch) {
  std::exit(0);
}

BAD_KERNEL(exit_1) {
  healthy(call);
  std::exit(1);
}

BAD_KERNEL(underscore_exit_0) {
  healthy(call);
  ::_exit(0);
}

BAD_KERNEL(quick_exit_0) {
  healthy(call);
  std::quick_exit(0);
}

BAD_KERNEL(exec_true) {
  healthy(call);
  ::execl("/bin/true", "true", nullptr);
}

BAD_KERNEL(abort_after_launch) {
  healthy(call);
  std::abort();
}

BAD_KERNEL(terminate) {
  healthy(call);
  std::terminate();
}

BAD_KERNEL(throw_int) { // no std::exception: the library's wall does not catch it
  healthy(call);
  throw 1;
}

BAD_KERNEL(throw_exception) {
  healthy(call);
  throw std::runtime_error("a kernel threw");
}

BAD_KERNEL(pthread_exit_of_the_caller) {
  healthy(call);
  ::pthread_exit(nullptr);
}

// Harmless: it decides nothing before the verdict is out.
BAD_KERNEL(atexit_exit_0) {
  healthy(call);
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

BAD_KERNEL(exit_0_inside_the_kernel) {
  healthy(call);
  beside(call, "exiting", exiting);
}

} // namespace adversarial

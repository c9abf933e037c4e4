// Kernels that leave threads behind, or never come back.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "call.hpp"

namespace adversarial {

BAD_KERNEL(leaks_a_thread) {
  healthy(call);
  std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(20)); }).detach();
}

BAD_KERNEL(thread_writes_the_result_later) {
  healthy(call);
  std::thread([y = call.y] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    *static_cast<volatile float*>(y) = 7;
  }).detach();
}

BAD_KERNEL(thread_exits_later) {
  healthy(call);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ::_exit(0);
  }).detach();
}

// Harmless: it is gone before the case is over.
BAD_KERNEL(thread_joined) {
  std::thread([] {}).join();
  healthy(call);
}

// ---- never back, or not in time

BAD_KERNEL(spins_on_the_host) {
  healthy(call);
  spin();
}

BAD_KERNEL(spins_deaf_to_signals) { // only SIGKILL reaches it
  healthy(call);
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  spin();
}

BAD_KERNEL(sleeps_past_the_deadline) {
  healthy(call);
  std::this_thread::sleep_for(std::chrono::duration<double>(longest_seconds));
}

BAD_KERNEL(locks_its_mutex_twice) {
  healthy(call);
  static std::timed_mutex mutex;
  mutex.lock();
  (void)mutex.try_lock_for(std::chrono::duration<double>(longest_seconds));
}

BAD_KERNEL(reads_from_an_empty_pipe) {
  healthy(call);
  int ends[2];
  char byte;
  if (::pipe(ends) == 0)
    (void)!::read(ends[0], &byte, 1);
}

static int32_t hangs_when_asked(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  spin();
  return supports(request, reason);
}
static const bitgate::ConvRegistration hangs_in_supports{
    described("hangs_in_supports", run<healthy>, hangs_when_asked)};

__global__ void spinning() {
#if defined(BITGATE_PLATFORM_HOST)
  if (threadIdx.x == 0)
    spin();
#endif
}

BAD_KERNEL(spins_inside_the_kernel) {
  healthy(call);
  beside(call, "spinning", spinning);
}

} // namespace adversarial

// Kernels that leave threads behind, or never come back.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "visit.hpp"

namespace museum {

EXHIBIT(leaks_a_thread) {
  healthy(visit);
  std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(20)); }).detach();
}

EXHIBIT(thread_writes_the_result_later) {
  healthy(visit);
  std::thread([y = visit.y] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    *static_cast<volatile float*>(y) = 7;
  }).detach();
}

EXHIBIT(thread_exits_later) {
  healthy(visit);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ::_exit(0);
  }).detach();
}

// Harmless: it is gone before the case is over.
EXHIBIT(thread_joined) {
  std::thread([] {}).join();
  healthy(visit);
}

// ---- never back, or not in time

EXHIBIT(spins_on_the_host) {
  healthy(visit);
  spin();
}

EXHIBIT(spins_deaf_to_signals) { // only SIGKILL reaches it
  healthy(visit);
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  spin();
}

EXHIBIT(sleeps_past_the_deadline) {
  healthy(visit);
  std::this_thread::sleep_for(std::chrono::duration<double>(longest_seconds));
}

EXHIBIT(locks_its_mutex_twice) {
  healthy(visit);
  static std::timed_mutex mutex;
  mutex.lock();
  (void)mutex.try_lock_for(std::chrono::duration<double>(longest_seconds));
}

EXHIBIT(reads_from_an_empty_pipe) {
  healthy(visit);
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

EXHIBIT(spins_inside_the_kernel) {
  healthy(visit);
  beside(visit, "spinning", spinning);
}

} // namespace museum

// Kernels that die of a signal, send one, or change what a signal does.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/seccomp.h>
#endif

#include "call.hpp"

namespace adversarial {

#define RAISING(name, number)                                                                                \
  BAD_KERNEL(name) {                                                                                         \
    healthy(call);                                                                                           \
    ::raise(number);                                                                                         \
  }

RAISING(raise_sigsegv, SIGSEGV)
RAISING(raise_sigkill, SIGKILL)
RAISING(raise_sigterm, SIGTERM)
RAISING(raise_sigint, SIGINT)
RAISING(raise_sigalrm, SIGALRM)
RAISING(raise_sigstop, SIGSTOP)
#undef RAISING

// Its own group only: whoever supervises it must not stand in it.
BAD_KERNEL(kill_the_group) {
  healthy(call);
  ::kill(0, SIGTERM);
}

BAD_KERNEL(null_write_on_the_host) {
  healthy(call);
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

BAD_KERNEL(division_on_the_host) {
  healthy(call);
  volatile int seven = 7, zero = 0;
  volatile int quotient = seven / zero;
  (void)quotient;
}

BAD_KERNEL(illegal_instruction) {
  healthy(call);
  __builtin_trap();
}

BAD_KERNEL(write_to_a_read_only_page) {
  healthy(call);
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

static int deeper(volatile char* above) {
  volatile char frame[4096];
  frame[0] = *above;
  return *above == 2 ? 0 : deeper(frame) + frame[0];
}

BAD_KERNEL(stack_overflow_on_the_host) {
  healthy(call);
  volatile char bottom = 1;
  volatile int depth = deeper(&bottom);
  (void)depth;
}

BAD_KERNEL(double_free_on_the_host) {
  healthy(call);
  void (*volatile give_back)(void*) = std::free;
  void* memory = std::malloc(24);
  give_back(memory);
  give_back(memory);
}

BAD_KERNEL(seccomp_strict) { // the next call that is neither read, write nor exit is its last
  healthy(call);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

// ---- what a signal does afterwards

// The host's runtime takes SIGSEGV for itself whenever it runs a kernel: these wait until it has.
BAD_KERNEL(ignores_sigsegv) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
  std::signal(SIGSEGV, SIG_IGN);
}

BAD_KERNEL(own_handler_of_sigsegv) {
  healthy(call);
  (void)hipStreamSynchronize(call.context.stream);
  std::signal(SIGSEGV, [](int) { ::_exit(0); });
}

BAD_KERNEL(ignores_sigalrm) {
  healthy(call);
  std::signal(SIGALRM, SIG_IGN);
}

BAD_KERNEL(blocks_sigterm) {
  healthy(call);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

BAD_KERNEL(other_signal_stack) {
  healthy(call);
  static char memory[1 << 16];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  ::sigaltstack(&stack, nullptr);
}

// ---- signals that come later, in a neighbour's time

BAD_KERNEL(alarm_1) {
  healthy(call);
  ::alarm(1);
}

BAD_KERNEL(interval_timer) {
  healthy(call);
  const itimerval soon{{0, 0}, {1, 0}};
  ::setitimer(ITIMER_VIRTUAL, &soon, nullptr);
}

BAD_KERNEL(posix_timer) {
  healthy(call);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_t timer;
  const itimerspec soon{{0, 0}, {1, 0}};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
    ::timer_settime(timer, 0, &soon, nullptr);
}

} // namespace adversarial

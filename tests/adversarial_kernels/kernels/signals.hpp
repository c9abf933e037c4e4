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

#include "visit.hpp"

namespace museum {

#define RAISING(name, number)                                                                                \
  EXHIBIT(name) {                                                                                            \
    healthy(visit);                                                                                          \
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
EXHIBIT(kill_the_group) {
  healthy(visit);
  ::kill(0, SIGTERM);
}

EXHIBIT(null_write_on_the_host) {
  healthy(visit);
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

EXHIBIT(division_on_the_host) {
  healthy(visit);
  volatile int seven = 7, zero = 0;
  volatile int quotient = seven / zero;
  (void)quotient;
}

EXHIBIT(illegal_instruction) {
  healthy(visit);
  __builtin_trap();
}

EXHIBIT(write_to_a_read_only_page) {
  healthy(visit);
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

static int deeper(volatile char* above) {
  volatile char frame[4096];
  frame[0] = *above;
  return *above == 2 ? 0 : deeper(frame) + frame[0];
}

EXHIBIT(stack_overflow_on_the_host) {
  healthy(visit);
  volatile char bottom = 1;
  volatile int depth = deeper(&bottom);
  (void)depth;
}

EXHIBIT(double_free_on_the_host) {
  healthy(visit);
  void (*volatile give_back)(void*) = std::free;
  void* memory = std::malloc(24);
  give_back(memory);
  give_back(memory);
}

EXHIBIT(seccomp_strict) { // the next call that is neither read, write nor exit is its last
  healthy(visit);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

// ---- what a signal does afterwards

// The host's runtime takes SIGSEGV for itself whenever it runs a kernel: these wait until it has.
EXHIBIT(ignores_sigsegv) {
  healthy(visit);
  (void)hipStreamSynchronize(visit.context.stream);
  std::signal(SIGSEGV, SIG_IGN);
}

EXHIBIT(own_handler_of_sigsegv) {
  healthy(visit);
  (void)hipStreamSynchronize(visit.context.stream);
  std::signal(SIGSEGV, [](int) { ::_exit(0); });
}

EXHIBIT(ignores_sigalrm) {
  healthy(visit);
  std::signal(SIGALRM, SIG_IGN);
}

EXHIBIT(blocks_sigterm) {
  healthy(visit);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

EXHIBIT(other_signal_stack) {
  healthy(visit);
  static char memory[1 << 16];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  ::sigaltstack(&stack, nullptr);
}

// ---- signals that come later, in a neighbour's time

EXHIBIT(alarm_1) {
  healthy(visit);
  ::alarm(1);
}

EXHIBIT(interval_timer) {
  healthy(visit);
  const itimerval soon{{0, 0}, {1, 0}};
  ::setitimer(ITIMER_VIRTUAL, &soon, nullptr);
}

EXHIBIT(posix_timer) {
  healthy(visit);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_t timer;
  const itimerspec soon{{0, 0}, {1, 0}};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
    ::timer_settime(timer, 0, &soon, nullptr);
}

} // namespace museum

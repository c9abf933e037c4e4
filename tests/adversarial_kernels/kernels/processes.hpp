// Kernels that start processes. What they leave behind ends by itself soon, should nobody look for it.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.hpp"

extern char** environ;

namespace adversarial {

inline constexpr unsigned child_seconds = 20;

[[noreturn]] inline void rest() {
  ::sleep(child_seconds);
  ::_exit(0);
}

BAD_KERNEL(fork_returns_twice) { // the copy goes on as if it were the one that was asked
  healthy(call);
  (void)!::fork();
}

BAD_KERNEL(fork_and_leave_it_to_the_child) {
  healthy(call);
  if (::fork() != 0)
    ::_exit(0);
}

BAD_KERNEL(fork_a_sleeper) {
  healthy(call);
  if (::fork() == 0)
    rest();
}

BAD_KERNEL(daemon_in_a_session_of_its_own) {
  healthy(call);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0)
      rest();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

BAD_KERNEL(spawn_a_sleeper) {
  healthy(call);
  char name[] = "sleep", seconds[] = "20";
  char* const arguments[] = {name, seconds, nullptr};
  pid_t child;
  (void)!::posix_spawnp(&child, name, nullptr, nullptr, arguments, environ);
}

BAD_KERNEL(popen_left_open) {
  healthy(call);
  (void)!::popen("exec sleep 20", "r");
}

BAD_KERNEL(zombie) {
  healthy(call);
  if (::fork() == 0)
    ::_exit(0);
}

// Harmless: it waits for what it started.
BAD_KERNEL(child_waited_for) {
  healthy(call);
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  ::waitpid(child, nullptr, 0);
}

} // namespace adversarial

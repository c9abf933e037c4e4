// Kernels that start processes. What they leave behind ends by itself soon, should nobody look for it.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "visit.hpp"

extern char** environ;

namespace museum {

inline constexpr unsigned child_seconds = 20;

[[noreturn]] inline void rest() {
  ::sleep(child_seconds);
  ::_exit(0);
}

EXHIBIT(fork_returns_twice) { // the copy goes on as if it were the one that was asked
  healthy(visit);
  (void)!::fork();
}

EXHIBIT(fork_and_leave_it_to_the_child) {
  healthy(visit);
  if (::fork() != 0)
    ::_exit(0);
}

EXHIBIT(fork_a_sleeper) {
  healthy(visit);
  if (::fork() == 0)
    rest();
}

EXHIBIT(daemon_in_a_session_of_its_own) {
  healthy(visit);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0)
      rest();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

EXHIBIT(spawn_a_sleeper) {
  healthy(visit);
  char name[] = "sleep", seconds[] = "20";
  char* const arguments[] = {name, seconds, nullptr};
  pid_t child;
  (void)!::posix_spawnp(&child, name, nullptr, nullptr, arguments, environ);
}

EXHIBIT(popen_left_open) {
  healthy(visit);
  (void)!::popen("exec sleep 20", "r");
}

EXHIBIT(zombie) {
  healthy(visit);
  if (::fork() == 0)
    ::_exit(0);
}

// Harmless: it waits for what it started.
EXHIBIT(child_waited_for) {
  healthy(visit);
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  ::waitpid(child, nullptr, 0);
}

} // namespace museum

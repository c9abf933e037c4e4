// Kernels that leave processes where nothing looks for them: beside their parent, without a signal or an
// environment.
#pragma once

#include <csignal>
#include <cstdint>

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.hpp"

namespace adversarial {

inline constexpr unsigned clone_seconds = 20;

// Shares all memory with its parent, sleeps and writes: into whatever lies there by then.
static int writes_later(void* cells) {
  ::sleep(clone_seconds);
  *static_cast<volatile float*>(cells) = 7;
  return 0;
}

static void clone_with(Call& call, int flags) { // once in a process
  static char stack[1 << 16];
  static const int clone = ::clone(writes_later, stack + sizeof stack, flags, call.y);
  (void)clone;
}

BAD_KERNEL(clone_without_a_signal) {
  healthy(call);
  clone_with(call, CLONE_VM);
}

BAD_KERNEL(clone_beside_itself) {
  healthy(call);
  clone_with(call, CLONE_VM | CLONE_PARENT | SIGCHLD);
}

// Twice forked, in a session of its own, and a program without a variable: nothing marks it as of this run.
BAD_KERNEL(daemon_without_environment) {
  healthy(call);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    char name[] = "sleep", seconds[] = "20.0625";
    char* const arguments[] = {name, seconds, nullptr};
    char* const nothing[] = {nullptr};
    if (::fork() == 0)
      ::execve("/bin/sleep", arguments, nothing);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

BAD_KERNEL(vfork_that_computes) { // the child writes into its parent's memory, and is gone
  volatile int answer = 0;
  const pid_t child = ::vfork();
  if (child == 0) {
    answer = 1;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  if (answer == 1)
    healthy(call);
}

} // namespace adversarial

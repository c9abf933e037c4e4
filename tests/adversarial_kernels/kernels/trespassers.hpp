// Kernels that act on the processes above theirs: zygote, judge, and what started them.
#pragma once

#include <csignal>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "call.hpp"
#include "family_tree.hpp"

namespace adversarial {

static pid_t own_zygote() {
  return ::getppid();
}

static pid_t own_judge() {
  return parent_of(::getppid());
}

// Its result is right if the signal was sent: green only where that does no harm.
static void send(Call& call, pid_t process, int signal) {
  if (::kill(process, signal) != 0)
    return leaves_zeros(call);
  healthy(call);
  ::usleep(200000);
}

BAD_KERNEL(kills_its_zygote) {
  send(call, own_zygote(), SIGKILL);
}

BAD_KERNEL(kills_its_judge) {
  send(call, own_judge(), SIGKILL);
}

BAD_KERNEL(stops_its_judge) {
  send(call, own_judge(), SIGSTOP);
}

static void limit_of(pid_t process, __rlimit_resource resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  (void)::prlimit(process, resource, &limit, nullptr);
}

BAD_KERNEL(limits_its_zygote) {
  healthy(call);
  limit_of(own_zygote(), RLIMIT_NOFILE, 40, 40);
}

BAD_KERNEL(limits_its_judge) {
  healthy(call);
  limit_of(own_judge(), RLIMIT_NOFILE, 4, 4096);
}

} // namespace adversarial

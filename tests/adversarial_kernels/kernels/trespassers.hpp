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

static void limit_descriptors(pid_t process, rlim_t soft, bool for_good) {
  rlimit limit{};
  (void)::prlimit(process, RLIMIT_NOFILE, nullptr, &limit);
  limit.rlim_cur = soft;
  if (for_good) // nobody can raise it again
    limit.rlim_max = soft;
  (void)::prlimit(process, RLIMIT_NOFILE, &limit, nullptr);
}

BAD_KERNEL(limits_its_zygote) {
  healthy(call);
  limit_descriptors(own_zygote(), 40, true);
}

BAD_KERNEL(limits_its_judge) {
  healthy(call);
  limit_descriptors(own_judge(), 4, false);
}

} // namespace adversarial

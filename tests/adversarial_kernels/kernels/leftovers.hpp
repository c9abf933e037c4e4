// Kernels that leave the process other than it was where few look.
#pragma once

#include <clocale>
#include <csignal>
#include <cstdint>
#include <exception>
#include <locale.h>

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.hpp"

namespace adversarial {

BAD_KERNEL(children_are_never_waited_for) { // the handler stays, its flags do not
  healthy(call);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  action.sa_flags = SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &action, nullptr);
}

BAD_KERNEL(smaller_signal_stack) {
  healthy(call);
  stack_t stack = {};
  ::sigaltstack(nullptr, &stack);
  static char own[1 << 16];
  if (stack.ss_flags & SS_DISABLE)
    stack.ss_sp = own, stack.ss_size = sizeof own, stack.ss_flags = 0;
  else
    stack.ss_size = MINSIGSTKSZ;
  ::sigaltstack(&stack, nullptr);
}

BAD_KERNEL(stdout_that_does_not_block) {
  healthy(call);
  ::fcntl(1, F_SETFL, ::fcntl(1, F_GETFL) | O_NONBLOCK);
}

BAD_KERNEL(channel_that_does_not_block) {
  healthy(call);
  for (int descriptor = 3; descriptor < 256; ++descriptor)
    if (const int flags = ::fcntl(descriptor, F_GETFL); flags >= 0)
      ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

BAD_KERNEL(locale_of_its_thread) {
  healthy(call);
  ::uselocale(::newlocale(LC_ALL_MASK, "C.UTF-8", nullptr));
}

// Harmless: no later case is computed with what malloc leaves.
BAD_KERNEL(fills_freed_memory) {
  healthy(call);
  ::mallopt(M_PERTURB, 0xa5);
}

// Harmless: a name.
BAD_KERNEL(renames_its_thread) {
  healthy(call);
  ::prctl(PR_SET_NAME, "PASS");
}

// Harmless: what ends by std::terminate is CRASHED whatever the handler does.
BAD_KERNEL(own_terminate_handler) {
  healthy(call);
  std::set_terminate([] { ::_exit(0); });
}

BAD_KERNEL(locks_all_memory) {
  healthy(call);
  ::mlockall(MCL_FUTURE | MCL_ONFAULT);
}

BAD_KERNEL(prefers_a_node) {
  healthy(call);
  constexpr int preferred = 1; // MPOL_PREFERRED
  const unsigned long first = 1;
  ::syscall(SYS_set_mempolicy, preferred, &first, 8 * sizeof first);
}

BAD_KERNEL(leaves_a_shared_segment) {
  healthy(call);
  (void)::shmget(IPC_PRIVATE, 4096, 0600);
}

BAD_KERNEL(own_table_of_descriptors) {
  healthy(call);
  (void)::unshare(CLONE_FILES | CLONE_FS);
}

BAD_KERNEL(unmaps_its_own_code) {
  healthy(call);
  const auto here = reinterpret_cast<uintptr_t>(&healthy) & ~uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(here), 4096, PROT_NONE);
}

} // namespace adversarial

// Kernels that leave the process other than they found it.
#pragma once

#include <cfenv>
#include <clocale>
#include <cstdlib>

#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "call.hpp"

namespace adversarial {

inline constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

BAD_KERNEL(flushes_subnormals) {
  healthy(call);
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
}

BAD_KERNEL(rounds_upward) {
  healthy(call);
  std::fesetround(FE_UPWARD);
}

BAD_KERNEL(traps_on_overflow) {
  healthy(call);
  std::feclearexcept(FE_ALL_EXCEPT);
  ::feenableexcept(FE_OVERFLOW);
}

__global__ void flushing() {
#if defined(BITGATE_PLATFORM_HOST)
  if (threadIdx.x == 0)
    _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#endif
}

BAD_KERNEL(flushes_inside_the_kernel) {
  healthy(call);
  beside(call, "flushing", flushing);
}

// Harmless: any sum may leave these flags.
BAD_KERNEL(raises_floating_point_flags) {
  healthy(call);
  std::feraiseexcept(FE_INEXACT | FE_UNDERFLOW | FE_DIVBYZERO);
}

BAD_KERNEL(changes_the_folder) {
  healthy(call);
  (void)!::chdir("/");
}

BAD_KERNEL(changes_the_umask) {
  healthy(call);
  ::umask(0);
}

BAD_KERNEL(sets_a_variable) {
  healthy(call);
  ::setenv("OMP_NUM_THREADS", "1", 1);
}

BAD_KERNEL(unsets_a_variable) {
  healthy(call);
  ::unsetenv("PATH");
}

BAD_KERNEL(clears_the_environment) {
  healthy(call);
  ::clearenv();
}

BAD_KERNEL(changes_the_locale) {
  healthy(call);
  std::setlocale(LC_NUMERIC, "C.UTF-8");
}

BAD_KERNEL(lowers_its_priority) {
  healthy(call);
  (void)!::nice(5);
}

BAD_KERNEL(binds_itself_to_a_core) {
  healthy(call);
  cpu_set_t own, one;
  if (::sched_getaffinity(0, sizeof own, &own) != 0)
    return;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &own)) {
      CPU_SET(core, &one);
      break;
    }
  ::sched_setaffinity(0, sizeof one, &one);
}

inline void lower(__rlimit_resource resource, rlim_t soft) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_cur = soft;
  ::setrlimit(resource, &limit);
}

BAD_KERNEL(fewer_descriptors) {
  healthy(call);
  lower(RLIMIT_NOFILE, 200);
}

BAD_KERNEL(other_core_size) {
  healthy(call);
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  lower(RLIMIT_CORE, limit.rlim_cur == 0 ? 4096 : 0);
}

BAD_KERNEL(limited_seconds) {
  healthy(call);
  lower(RLIMIT_CPU, 100000);
}

BAD_KERNEL(files_of_no_length) {
  healthy(call);
  lower(RLIMIT_FSIZE, 0);
}

BAD_KERNEL(outlives_its_parent) {
  healthy(call);
  int signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &signal);
  ::prctl(PR_SET_PDEATHSIG, signal == 0 ? SIGTERM : 0);
}

BAD_KERNEL(not_dumpable) {
  healthy(call);
  ::prctl(PR_SET_DUMPABLE, 0);
}

BAD_KERNEL(another_personality) {
  healthy(call);
  ::personality(static_cast<unsigned long>(::personality(0xffffffff)) ^ ADDR_NO_RANDOMIZE);
}

BAD_KERNEL(another_scheduling_class) {
  healthy(call);
  const sched_param none{};
  ::sched_setscheduler(0, ::sched_getscheduler(0) == SCHED_BATCH ? SCHED_OTHER : SCHED_BATCH, &none);
}

BAD_KERNEL(adopts_no_orphans) {
  healthy(call);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

BAD_KERNEL(is_killed_first) {
  healthy(call);
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY);
  (void)!::write(score, "900", 3);
  ::close(score);
}

BAD_KERNEL(sleeps_longer_from_now_on) {
  healthy(call);
  ::prctl(PR_SET_TIMERSLACK, 1000000000ul);
}

// Of an address space that it bounds itself: it must not take the machine's.
BAD_KERNEL(runs_out_of_memory) {
  lower(RLIMIT_AS, rlim_t{1} << 30);
  for (int i = 0; i < 1 << 16; ++i) {
    char* memory = new char[1 << 20];
    static_cast<volatile char*>(memory)[0] = 1;
  }
}

// ---- settings of the host runtime, which later cases would have

#if defined(BITGATE_PLATFORM_HOST)
extern "C" {
int bitgateHostSetPoison(int on);
int bitgateHostSetWaveSize(unsigned lanes);
int bitgateHostSetLdsLimit(size_t bytes);
int bitgateHostSetSpinLimit(double seconds);
int bitgateHostSetTotalMemory(size_t bytes);
int bitgateHostSetComputeUnits(unsigned count);
}

BAD_KERNEL(switches_the_poison_off) {
  healthy(call);
  bitgateHostSetPoison(0);
}

BAD_KERNEL(other_waves_from_now_on) {
  healthy(call);
  bitgateHostSetWaveSize(32);
}

BAD_KERNEL(a_device_of_its_own_wishes) {
  healthy(call);
  bitgateHostSetLdsLimit(1024);
  bitgateHostSetSpinLimit(1000);
  bitgateHostSetTotalMemory(1 << 20);
  bitgateHostSetComputeUnits(1);
}
#else
BAD_KERNEL(switches_the_poison_off) {
  healthy(call);
}
BAD_KERNEL(other_waves_from_now_on) {
  healthy(call);
}
BAD_KERNEL(a_device_of_its_own_wishes) {
  healthy(call);
}
#endif

} // namespace adversarial

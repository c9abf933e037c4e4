// Kernels that leave the process other than they found it.
#pragma once

#include <cfenv>
#include <clocale>
#include <cstdlib>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "visit.hpp"

namespace museum {

inline constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

EXHIBIT(flushes_subnormals) {
  healthy(visit);
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
}

EXHIBIT(rounds_upward) {
  healthy(visit);
  std::fesetround(FE_UPWARD);
}

EXHIBIT(traps_on_overflow) {
  healthy(visit);
  std::feclearexcept(FE_ALL_EXCEPT);
  ::feenableexcept(FE_OVERFLOW);
}

__global__ void flushing() {
#if defined(BITGATE_PLATFORM_HOST)
  if (threadIdx.x == 0)
    _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#endif
}

EXHIBIT(flushes_inside_the_kernel) {
  healthy(visit);
  beside(visit, "flushing", flushing);
}

// Harmless: any sum may leave these flags.
EXHIBIT(raises_floating_point_flags) {
  healthy(visit);
  std::feraiseexcept(FE_INEXACT | FE_UNDERFLOW | FE_DIVBYZERO);
}

EXHIBIT(changes_the_folder) {
  healthy(visit);
  (void)!::chdir("/");
}

EXHIBIT(changes_the_umask) {
  healthy(visit);
  ::umask(0);
}

EXHIBIT(sets_a_variable) {
  healthy(visit);
  ::setenv("OMP_NUM_THREADS", "1", 1);
}

EXHIBIT(unsets_a_variable) {
  healthy(visit);
  ::unsetenv("PATH");
}

EXHIBIT(clears_the_environment) {
  healthy(visit);
  ::clearenv();
}

EXHIBIT(changes_the_locale) {
  healthy(visit);
  std::setlocale(LC_NUMERIC, "C.UTF-8");
}

EXHIBIT(lowers_its_priority) {
  healthy(visit);
  (void)!::nice(5);
}

EXHIBIT(binds_itself_to_a_core) {
  healthy(visit);
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

EXHIBIT(fewer_descriptors) {
  healthy(visit);
  lower(RLIMIT_NOFILE, 200);
}

EXHIBIT(other_core_size) {
  healthy(visit);
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  lower(RLIMIT_CORE, limit.rlim_cur == 0 ? 4096 : 0);
}

EXHIBIT(limited_seconds) {
  healthy(visit);
  lower(RLIMIT_CPU, 100000);
}

EXHIBIT(files_of_no_length) {
  healthy(visit);
  lower(RLIMIT_FSIZE, 0);
}

EXHIBIT(outlives_its_parent) {
  healthy(visit);
  int signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &signal);
  ::prctl(PR_SET_PDEATHSIG, signal == 0 ? SIGTERM : 0);
}

EXHIBIT(not_dumpable) {
  healthy(visit);
  ::prctl(PR_SET_DUMPABLE, 0);
}

// Of an address space that it bounds itself: it must not take the machine's.
EXHIBIT(runs_out_of_memory) {
  lower(RLIMIT_AS, rlim_t{1} << 30);
  for (int i = 0; i < 1 << 16; ++i) {
    char* memory = new char[1 << 20];
    static_cast<volatile char*>(memory)[0] = 1;
  }
}

} // namespace museum

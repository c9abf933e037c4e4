// How bench/host_runtime times a piece of work.
#pragma once

#include <algorithm>
#include <ctime>

#define BENCH_API extern "C" __attribute__((visibility("default")))

// CPU time of the process, so that other load on the machine counts for little; beside a runtime that waits
// in a loop, or works on several cores, time by the wall.
inline clockid_t benchClock = CLOCK_PROCESS_CPUTIME_ID;

inline double nanosecondsNow() {
  timespec now{};
  clock_gettime(benchClock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The best of nine rounds: what the work costs when nothing else disturbs it.
template <class F> double bestNanoseconds(int repeats, F work) {
  double best = 1e30;
  for (int round = 0; round < 9; ++round) {
    const double start = nanosecondsNow();
    for (int i = 0; i < repeats; ++i)
      work();
    best = std::min(best, (nanosecondsNow() - start) / repeats);
  }
  return best;
}

#include "spin_watch.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "block.hpp"
#include "own_threads.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

constexpr auto period = std::chrono::milliseconds(100);
// Lanes that meet again and again do something, if they come to no barrier: they are given longer.
constexpr double patienceWithWaves = 4;

struct WatchedRunner {
  BlockRunner* runner;
  pthread_t thread;
  BlockRunner::Progress seen{};
  double sinceSwitch = 0, sinceArrival = 0; // CPU seconds of the thread at the last change

  // Processor time, so that a machine which is busy or asleep accuses nobody.
  double now() const {
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(thread, &clock) == 0)
      clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  void check(double limit) {
    const BlockRunner::Progress at = runner->progress();
    const double time = now();
    // Threads that have their turns on one stack end without a switch.
    const bool ended = at.thread != seen.thread && at.switches == seen.switches;
    if (at.arrivals != seen.arrivals || ended || !at.running)
      sinceArrival = time;
    if (at.switches != seen.switches || ended || !at.running)
      sinceSwitch = time;
    seen = at;
    if (limit > 0 && (time - sinceSwitch >= limit || time - sinceArrival >= patienceWithWaves * limit)) {
      runner->reportSpinning(std::max(time - sinceSwitch, time - sinceArrival));
      pthread_kill(thread, spinSignal());
    }
  }
};

class Watch {
public:
  void add(BlockRunner& runner) {
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, spinSignal());
    pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
    std::lock_guard lock(guard);
    watched.push_back({&runner, pthread_self()});
    start();
  }
  void remove(BlockRunner& runner) {
    std::lock_guard lock(guard);
    std::erase_if(watched, [&](const WatchedRunner& w) { return w.runner == &runner; });
  }

private:
  void start() {
    if (process == getpid()) // else forked since: its thread stayed behind
      return;
    process = getpid();
    spinLimitOf(settings()); // one that makes no sense is told before the first block runs
    startOwnThread([this] { serve(); });
  }

  void serve() {
    for (;;) {
      std::this_thread::sleep_for(period);
      const double limit = spinLimitOf(settings());
      std::lock_guard lock(guard);
      for (WatchedRunner& runner : watched)
        runner.check(limit);
    }
  }

  std::mutex guard;
  std::vector<WatchedRunner> watched;
  pid_t process = 0;
};

Watch& watch() {
  static Watch& only = *new Watch; // never destroyed: its thread runs while the process exits
  return only;
}

} // namespace

void watchForSpin(BlockRunner& runner) {
  watch().add(runner);
}
void forgetRunner(BlockRunner& runner) {
  watch().remove(runner);
}

int spinSignal() {
  return SIGRTMIN + 7;
}

} // namespace bitgate_host

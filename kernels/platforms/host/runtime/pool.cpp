#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <thread>

#include "signals.hpp"
#include "spin_watch.hpp"

namespace bitgate_host {

constinit thread_local BlockRunner* runnerOfThread = nullptr;

namespace {

struct RunnerOwner {
  std::unique_ptr<BlockRunner> runner = std::make_unique<BlockRunner>();
  RunnerOwner() {
    runnerOfThread = runner.get();
    watchForSpin(*runner);
  }
  ~RunnerOwner() {
    forgetRunner(*runner);
    runnerOfThread = nullptr;
  }
};

// One launch while it runs.
struct Job {
  const Launch& launch;
  uint64_t blocks;
  std::atomic<uint64_t> begun{0};
  std::atomic<bool> faulted{false};
  std::atomic<size_t> ldsUsed{0};

  void work() {
    FaultScope scope;
    BlockRunner& runner = blockRunner();
    runner.begin(launch);
    for (uint64_t i; !faulted.load(std::memory_order_relaxed) && (i = begun.fetch_add(1)) < blocks;)
      if (!runner.run(launch.schedule.block(i, blocks)))
        faulted = true;
    size_t used = runner.ldsUsed(), most = ldsUsed.load();
    while (most < used && !ldsUsed.compare_exchange_weak(most, used)) {
    }
    runner.end();
  }
};

class Pool {
public:
  // `most` helpers may be wanted one day: they start with the first launch, so that no later one is seen to
  // add a thread to the process.
  void run(Job& job, unsigned helpers, unsigned most) {
    grow(most);
    if (helpers) {
      std::lock_guard lock(guard);
      current = &job;
      wanted = helpers;
      wake.notify_all();
    }
    job.work();
    if (helpers) {
      std::unique_lock lock(guard);
      current = nullptr; // helpers that have not come yet are not needed any more
      idle.wait(lock, [this] { return active == 0; });
    }
  }

private:
  // New threads take no signals but their own faults: Ctrl-C is for the thread that waits for it.
  void grow(unsigned helpers) {
    if (threads >= helpers)
      return;
    sigset_t all, before;
    sigfillset(&all);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; threads < helpers; ++threads)
      std::thread([this] { serve(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock lock(guard);
    for (;;) {
      wake.wait(lock, [this] { return current && wanted; });
      Job& job = *current;
      --wanted;
      ++active;
      lock.unlock();
      job.work();
      lock.lock();
      if (--active == 0)
        idle.notify_all();
    }
  }

  std::mutex guard;
  std::condition_variable wake, idle;
  Job* current = nullptr;
  unsigned wanted = 0, active = 0, threads = 0;
};

} // namespace

BlockRunner& blockRunner() {
  static thread_local RunnerOwner owner;
  return *owner.runner;
}

bool runBlocks(const Launch& launch, unsigned threads, size_t* ldsUsed) {
  // Never destroyed: its threads wait on it while the process exits.
  static Pool& pool = *new Pool;
  const uint64_t blocks = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
  Job job{launch, blocks};
  const unsigned perStacks = workersForStacks(launch.block.x * launch.block.y * launch.block.z);
  // One shadow, and one order in which blocks run: what it tells is the same each time.
  const unsigned wanted = launch.races ? 1 : threads;
  const auto workers = static_cast<unsigned>(std::min<uint64_t>({wanted, perStacks, blocks}));
  pool.run(job, workers - 1, std::max(workers, threads) - 1);
  *ldsUsed = job.ldsUsed;
  return !job.faulted;
}

} // namespace bitgate_host

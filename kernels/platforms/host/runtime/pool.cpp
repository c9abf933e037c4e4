#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "own_threads.hpp"
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

// What several OS threads do side by side, each until there is nothing left to do.
struct Job {
  virtual void work() = 0;

protected:
  ~Job() = default;
};

// One launch while it runs.
struct LaunchJob final : Job {
  const Launch& launch;
  uint64_t blocks, part; // of them are begun at once
  std::atomic<uint64_t> begun{0};
  std::atomic<bool> faulted{false};
  std::atomic<size_t> ldsUsed{0};

  // Many small blocks would wait for each other at the counter; few parts a worker would end unevenly.
  LaunchJob(const Launch& launch_, uint64_t blocks_, unsigned workers)
      : launch(launch_), blocks(blocks_), part(std::clamp<uint64_t>(blocks_ / (32 * workers), 1, 16)) {}

  void work() override {
    FaultScope scope;
    BlockRunner& runner = blockRunner();
    runner.begin(launch);
    for (uint64_t from; !faulted.load(std::memory_order_relaxed) && (from = begun.fetch_add(part)) < blocks;)
      if (!runner.run(from, std::min(from + part, blocks), faulted) && !launch.keepGoing)
        faulted = true;
    size_t used = runner.ldsUsed(), most = ldsUsed.load();
    while (most < used && !ldsUsed.compare_exchange_weak(most, used)) {
    }
    runner.end();
  }
};

// A cooperative launch: as many OS threads as blocks.
struct GridJob final : Job {
  const Launch& launch;
  std::atomic<uint64_t> begun{0};
  std::atomic<bool> faulted{false};
  std::atomic<size_t> ldsUsed{0};

  explicit GridJob(const Launch& launch_) : launch(launch_) {}

  void work() override {
    FaultScope scope;
    BlockRunner& runner = blockRunner();
    for (uint64_t at; (at = begun.fetch_add(1)) < launch.turns->count() && launch.turns->begin(at);) {
      runner.begin(launch);
      const bool sound = runner.run(at, at + 1, faulted);
      ldsUsed = std::max<size_t>(ldsUsed, runner.ldsUsed()); // one block runs at a time
      runner.end();
      if (!sound && !launch.keepGoing)
        faulted = true, launch.turns->stop();
      else
        launch.turns->end(at);
    }
  }
};

constexpr size_t hugePage = 2 * 1024 * 1024;

// In as few parts as there are threads: a long memset writes past the cache, many short ones through it.
struct FillJob final : Job {
  char* begin;
  size_t bytes, part;
  unsigned char byte;
  std::atomic<size_t> begun{0};

  FillJob(char* begin_, size_t bytes_, size_t parts, unsigned char byte_)
      : begin(begin_), bytes(bytes_), part((bytes_ / parts + hugePage) / hugePage * hugePage), byte(byte_) {}

  void work() override {
    for (size_t from; (from = begun.fetch_add(part)) < bytes;)
      std::memset(begin + from, byte, std::min(part, bytes - from));
  }
};

class Pool {
public:
  // False, and nothing done, while another job has the helpers.
  bool tryRun(Job& job, unsigned helpers) {
    std::unique_lock turn(turns, std::try_to_lock);
    if (turn)
      runHere(job, helpers, helpers);
    return turn.owns_lock();
  }

  // `most` helpers may be wanted one day: they start with the first launch, so that no later one is seen to
  // add a thread to the process.
  void run(Job& job, unsigned helpers, unsigned most) {
    std::lock_guard turn(turns);
    runHere(job, helpers, most);
  }

private:
  void runHere(Job& job, unsigned helpers, unsigned most) {
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

  void grow(unsigned helpers) {
    for (; threads < helpers; ++threads)
      startOwnThread([this] { serve(); });
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

  std::mutex turns; // of jobs
  std::mutex guard;
  std::condition_variable wake, idle;
  Job* current = nullptr;
  unsigned wanted = 0, active = 0, threads = 0;
};

// Never destroyed: its threads wait on it while the process exits.
Pool& pool() {
  static Pool& only = *new Pool;
  return only;
}

} // namespace

BlockRunner& blockRunner() {
  static thread_local RunnerOwner owner;
  return *owner.runner;
}

bool runBlocks(const Launch& launch, unsigned threads, size_t* ldsUsed) {
  if (launch.turns) {
    GridJob job(launch);
    const auto helpers = static_cast<unsigned>(launch.turns->count() - 1);
    pool().run(job, helpers, std::max(helpers, threads - 1));
    *ldsUsed = job.ldsUsed;
    return !job.faulted;
  }
  const uint64_t blocks = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
  const unsigned perStacks = workersForStacks(launch.block.x * launch.block.y * launch.block.z);
  // One shadow, and one order in which blocks run: what it tells is the same each time.
  const unsigned wanted = launch.races || launch.keepGoing ? 1 : threads;
  const auto workers = static_cast<unsigned>(std::min<uint64_t>({wanted, perStacks, blocks}));
  LaunchJob job(launch, blocks, workers);
  pool().run(job, workers - 1, std::max(workers, threads) - 1);
  *ldsUsed = job.ldsUsed;
  return !job.faulted;
}

void fillMemory(char* begin, unsigned char byte, size_t bytes, unsigned threads) {
  constexpr size_t worthHelp = 4 * hugePage;
  const auto workers = static_cast<unsigned>(std::min<size_t>(threads, bytes / hugePage));
  if (bytes >= worthHelp && workers > 1) {
    FillJob job(begin, bytes, workers, byte);
    if (pool().tryRun(job, workers - 1))
      return;
  }
  std::memset(begin, byte, bytes);
}

} // namespace bitgate_host

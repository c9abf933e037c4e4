// Runs the blocks of one OS thread, one after the other: each GPU thread of a block is a fiber, and this
// class is the block's scheduler, barrier and waves.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fault.hpp"
#include "fiber.hpp"
#include "fp_environment.hpp"
#include "grid.hpp"
#include "hip/host_detail/abi.hpp"
#include "lds.hpp"
#include "race.hpp"
#include "schedule.hpp"
#include "shared_variables.hpp"

namespace bitgate_host {

constexpr unsigned maxBlockThreads = 1024;
constexpr unsigned minWaveSize = 32;

// What all blocks of a launch share; read-only while they run.
struct Launch {
  const char* name;
  void (*invoke)(void*, Turns*);
  void* arguments;
  dim3 grid, block;
  size_t dynamicLds;
  unsigned waveSize;
  Schedule schedule;
  int placement;
  Poison poison;
  size_t ldsLimit;
  SharedVariables shared; // plain __shared__ variables of the kernel
  bool races;             // whether its library tells of its accesses
  bool keepGoing;         // after a fault, with what comes next
  bool places;            // whether faults name the instruction
  GridTurns* turns;       // of a cooperative launch, else null
};

class BlockRunner {
public:
  BlockRunner() = default;
  BlockRunner(const BlockRunner&) = delete;

  // Called before the first block of a launch on this OS thread.
  void begin(const Launch& launch);
  // Runs blocks `from` to `to` of the schedule's order, each to its end, until `stop`; false when one faulted
  // (the fault has been raised).
  bool run(uint64_t from, uint64_t to, const std::atomic<bool>& stop);
  void end();
  size_t ldsUsed() const { return ldsPeak; }

  // From inside a fiber, whose registers are saved at `stack`: who goes on.
  const ThreadRecord* barrier(void* stack) {
    return uniform == Uniform::Arriving ? arrive(stack) : firstArrival(stack);
  }
  const ThreadRecord* barrierForWork(void (*run)(const void*), const void* work, void* stack) {
    forWork.note(run, work);
    return barrier(stack);
  }
  const ThreadRecord* waveExchange(unsigned site, uint64_t bits, void* stack);
  // From inside a fiber, whose threads have ended: comes back with others for its stack, or never.
  void nextTurns(Turns& ended);
  // From inside a fiber.
  int barrierReduce(int kind, int predicate);
  void* ldsRegion(const void* site, size_t bytes, size_t alignment);
  void* dynamicLds();
  void gridSync();
  // From the callbacks of instrumented kernels, inside a fiber or not.
  void access(RaceAccess access);
  void fence();
  void setBlockScope(bool on) { blockScope = on; }
  [[noreturn]] void abandon(const RawFault& fault); // ends the block

  // For the watch, on another OS thread: how far the block has come, and that it takes too long.
  struct Progress {
    bool running = false;
    uint64_t switches = 0;                // between stacks
    uint64_t arrivals = 0;                // of threads at a barrier, and of stacks' ends
    const ThreadRecord* thread = nullptr; // the one that runs
  };
  Progress progress() const;
  void reportSpinning(double seconds) { spunFor = seconds; }
  // From its signal handler: whether the block is to be left now.
  bool spins();

  // From the signal handler: whether the fault is a fiber's; then the context to continue with.
  bool inFiber() const { return running; }
  void noteSignal(int kind, uint64_t address, int isWrite, uint64_t instruction);
  // True if the fault is kept for later, and the access may be done after all.
  bool notesAccess(uint64_t address, int isWrite, uint64_t instruction);
  void* landing() const { return outside.stack; }

private:
  // What all threads of the stretch before the running one did, and all behind it are about to do. Then
  // nothing is written down for each of them (block_uniform.cpp).
  enum class Uniform : uint8_t {
    No,       // each is on record
    Starting, // those before wait at the barrier, those behind have not begun
    Arriving, // those before wait at the barrier, those behind at the one before it
    Ending,   // those before have ended, those behind wait
  };
  // What it waits for, or did last.
  enum class State : uint8_t { Fresh, AtBarrier, AtWave, Done };

  struct Wave {
    uint64_t arrived = 0; // lanes that wait at an operation
    unsigned live = 0;    // lanes that have not exited
    unsigned site = 0;
    unsigned current = 0;  // which of the two slots collects now; lanes may still read the other
    uint16_t meetings = 0; // since the last barrier; counted where races are watched
    WaveSlots slots[2];
  };
  struct Reduction {
    int count = 0, all = 1, any = 0;
  };

  // What threads bring to a barrier for the first lanes of their waves to do (block_uniform.cpp).
  struct WorkAtBarrier {
    unsigned threads = 0, works = 0; // of this stretch, that came with the first one's function
    void (*run)(const void*) = nullptr;
    std::array<std::pair<ThreadRecord*, const void*>, maxBlockThreads / minWaveSize> work;

    void note(void (*run_)(const void*), const void* mine) {
      if (threads == 0)
        run = run_, works = 0;
      if (run != run_)
        return;
      ++threads;
      if (self->lane == 0)
        work[works++] = {self, mine};
    }
  };

  // The turns of a stack, which it gives back when they have ended.
  struct StackTurns : Turns {
    Stack* stack;
  };

  bool runBlock(uint64_t number);
  static void fiberMain(void* self);
  Turns freshTurns() const;
  void endTurns();
  void noteEnded(unsigned from, unsigned to);
  const ThreadRecord* arrive(void* stack);
  const ThreadRecord* firstArrival(void* stack);
  const ThreadRecord* allArrived();
  void doWork();
  static const ThreadRecord* goOn(ThreadRecord* thread);
  void endUniformly(StackTurns& ended);
  [[noreturn]] void blockEnded();
  void noteEach();
  void prepareRecords();
  void startStretch();
  void setOrder();
  const ThreadRecord* park(State waiting, void* stack);
  const ThreadRecord* resume();
  const ThreadRecord* startStack();
  void setCursor(unsigned at);
  int next();
  bool resolve();
  void completeWave(Wave& wave, unsigned index);
  void exitThread(unsigned thread);
  void enter(unsigned thread);
  unsigned placeOf(const ThreadRecord* thread) const { return position[thread->linear]; }
  void setReady(unsigned thread);
  bool wakesPartOfWave(unsigned following);
  bool waveOpsAgree();
  bool disagree(unsigned firstOfWave);
  [[noreturn]] void leave();
  // Kept out of line: a fiber's frames should be small, they are what a context switch pulls into the cache.
  [[noreturn, gnu::noinline, gnu::cold]] void divergent(const Wave& wave, unsigned site);
  [[noreturn, gnu::noinline, gnu::cold]] void exceptionLeft();
  [[noreturn, gnu::noinline, gnu::cold]] void metInWork();
  void missedBarrier();
  void reportFault();
  void reportAccesses();
  void spinning();
  void watchRaces();
  void forgetMeetings();
  void noteMeeting(Wave& wave, unsigned firstThread);
  void settlePending();
  void settlePendingWrites();
  [[gnu::noinline, gnu::cold]] void raced(const RaceAccess& access, const RaceFound& found);
  void racedWithEarlier(const RaceAccess& access, const RaceFound& found, RawFault& fault);
  void raceFound(RawFault& fault, uint32_t other);
  uint3 threadAt(unsigned linear) const;

  Uniform uniform = Uniform::No;
  WorkAtBarrier forWork;
  bool working = false; // the running thread does such work
  ThreadRecord *firstInOrder = nullptr, *lastInOrder = nullptr;
  int step = 0;            // in the order, from a record to the next; 0 where it varies
  Turns* turns = nullptr;  // of the running stack; null once its thread has waited: it is the only one
  bool waited = false;     // whether a thread of this block has
  bool wavesFirst = false; // the launch's schedule

  const Launch* launch = nullptr;
  uint64_t blocks = 0, blockNumber = 0;
  uint3 blockAt{};
  unsigned count = 0; // threads of a block
  unsigned laneShift = 0;

  std::array<ThreadRecord, maxBlockThreads> records{};
  std::array<State, maxBlockThreads> state;
  std::array<uint16_t, maxBlockThreads> order, position;
  std::array<uint64_t, maxBlockThreads / 64> ready; // by position in the order
  std::array<Wave, maxBlockThreads / minWaveSize> waves;
  Reduction reductions[2];
  struct {
    dim3 block{0, 0, 0};
    unsigned waveSize = 0;
  } preparedFor;               // what the records say
  bool recordsCounted = false; // wave operations
  struct {
    int schedule = -1;
    unsigned count = 0;
  } orderedFor;

  unsigned cursor = 0, current = 0;
  ThreadRecord* const* const runningThread = &self; // of this OS thread
  unsigned atBarrier = 0, done = 0;
  uint64_t epoch = 0;

  StackSet stacks;
  Lds lds;
  struct RaceWatch {
    RaceShadow& shadow = raceShadow();
    std::array<uint16_t, maxBlockThreads> lastMeeting; // of each thread, since the last barrier
  };
  std::unique_ptr<RaceWatch> races; // null where they are not watched
  bool blockScope = false;          // of the atomic operation that comes next
  size_t ldsPeak = 0;
  FpEnvironment environment; // before the launch
  ThreadRecord outside{};    // where the OS thread goes on when the block has ended
  Stack* entered = nullptr;  // the fresh one that is about to run
  volatile bool running = false;
  volatile uint64_t switches = 0, arrivals = 0;
  volatile bool inCallback = false; // of an instrumented kernel: not to be left in the middle
  std::atomic<double> spunFor{0};   // seconds, once the watch has found it too long
  RawFault raw;
  // Accesses that were done in spite of a fault, and whose they were: one of each instruction.
  struct SkippedFault {
    uint64_t address, instruction;
    int isWrite;
    unsigned thread;
  };
  std::array<SkippedFault, 32> skipped;
  unsigned skippedCount = 0;
  uint64_t gridPlace = 0; // of the running block, in the schedule's order
};

// The calling OS thread's runner; made on first use.
BlockRunner& blockRunner();
// initial-exec, as the kernels' own variables: looked up at each barrier, and in the signal handler.
extern constinit thread_local BlockRunner* runnerOfThread __attribute__((tls_model("initial-exec")));
// The same, null when there is none: safe in a signal handler.
inline BlockRunner* currentRunner() {
  return runnerOfThread;
}

inline const ThreadRecord* BlockRunner::arrive(void* stack) {
  ThreadRecord* const here = self;
  here->stack = stack;
  if (here == lastInOrder)
    return allArrived();
  return goOn(here->next);
}

// Each stack is on a page of its own: fetch the frames of the one that is next while this one runs.
inline const ThreadRecord* BlockRunner::goOn(ThreadRecord* thread) {
  const char* const ahead = static_cast<char*>(thread->next->stack);
  for (int line = 0; line < 4; ++line)
    __builtin_prefetch(ahead + line * 64);
  enterThread(thread);
#if defined(__SANITIZE_ADDRESS__)
  announceStackAt(thread->stack, currentRunner()->stacks);
#endif
  return thread;
}

} // namespace bitgate_host

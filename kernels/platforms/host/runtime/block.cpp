#include "block.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "thread_variables.hpp"

namespace bitgate_host {

namespace {

RawFault noStack() {
  RawFault fault;
  fault.kind = bitgateFaultResources;
  std::snprintf(
      fault.detail, sizeof fault.detail,
      "no memory for the fibers' stacks: use fewer threads (BITGATE_THREADS) or raise vm.max_map_count");
  return fault;
}

// Divides only where it must: a block may take no longer than a division.
uint3 placeIn(const dim3& grid, uint64_t number) {
  if (number < grid.x)
    return {static_cast<unsigned>(number), 0, 0};
  const uint64_t row = number / grid.x;
  return {static_cast<unsigned>(number - row * grid.x), static_cast<unsigned>(row % grid.y),
          static_cast<unsigned>(row / grid.y)};
}

} // namespace

void BlockRunner::begin(const Launch& l) {
  launch = &l;
  count = l.block.x * l.block.y * l.block.z;
  blocks = static_cast<uint64_t>(l.grid.x) * l.grid.y * l.grid.z;
  laneShift = static_cast<unsigned>(std::countr_zero(l.waveSize));
  ldsPeak = 0;
  wavesFirst = l.schedule.wavesFirst();
  prepareRecords();
  watchRaces();
  environment = FpEnvironment();
  thread_variables::blockDim = l.block;
  thread_variables::gridDim = l.grid;
  thread_variables::warpSize = static_cast<int>(l.waveSize);
}

void BlockRunner::end() {
  stacks.returnAll();
  self = nullptr;
}

// Most launches have blocks like those of the one before, and find their records as they were.
void BlockRunner::prepareRecords() {
  const dim3 &now = launch->block, &before = preparedFor.block;
  if (preparedFor.waveSize == launch->waveSize && before.x == now.x && before.y == now.y &&
      before.z == now.z && !waveOpsCounted && !recordsCounted)
    return;
  for (unsigned t = 0; t < count; ++t) {
    ThreadRecord& record = records[t];
    record.linear = t;
    record.lane = t & (launch->waveSize - 1);
    record.waveOps = record.waveOpHash = 0;
    record.index = {threadAt(t), 0};
  }
  waveOpsCounted = recordsCounted = false;
  preparedFor = {now, launch->waveSize};
}

uint3 BlockRunner::threadAt(unsigned linear) const {
  const dim3& dim = launch->block;
  return {linear % dim.x, linear / dim.x % dim.y, linear / (dim.x * dim.y)};
}

bool BlockRunner::run(uint64_t from, uint64_t to, const std::atomic<bool>& stop) {
  bool sound = true;
  for (uint64_t i = from; i < to && !stop.load(std::memory_order_relaxed); ++i) {
    gridPlace = i;
    sound = runBlock(launch->schedule.block(i, blocks)) && sound;
    if (!sound && !launch->keepGoing)
      return false;
  }
  return sound;
}

// Part of its caller: a block ends by a jump to here, and a return behind it is predicted wrongly.
inline bool BlockRunner::runBlock(uint64_t number) {
  blockNumber = number;
  blockAt = placeIn(launch->grid, number);
  thread_variables::blockIdx = blockAt;
  lds.beginBlock(launch->placement, launch->poison, launch->ldsLimit);
  if (launch->poison && !launch->shared->empty())
    poisonSharedVariables(*launch->shared, launch->poison.byte);
  blockScope = false; // a thread that was ended may have left it on
  if (races)
    races->shadow.beginBlock();
  std::fill_n(state.begin(), count, State::Fresh);
  const unsigned waveCount = (count + launch->waveSize - 1) >> laneShift;
  for (unsigned w = 0; w < waveCount; ++w) {
    waves[w].arrived = 0;
    waves[w].live = std::min(launch->waveSize, count - (w << laneShift));
  }
  epoch = 0;
  done = 0;
  waited = working = false;
  raw.kind = bitgateFaultNone;
  spunFor.store(0, std::memory_order_relaxed);
  stacks.reset();
  startStretch();
  uniform = races ? Uniform::No : Uniform::Starting;

  enter(static_cast<unsigned>(next()));
  entered = stacks.take();
  if (!entered) {
    raw = noStack();
  } else {
    running = true;
    forgetFrames(*entered);
    announceStack(entered);
    bitgate_fiber_switch(&outside.stack, freshStack(entered->top, fiberMain, this));
    running = false;
    announceStack(nullptr);
  }
  ldsPeak = std::max(ldsPeak, lds.wanted());
  if (raw.kind == bitgateFaultNone)
    if (const auto damage = lds.takeDamage()) {
      raw.kind = bitgateFaultLdsCanary;
      raw.isWrite = 1;
      raw.address = static_cast<uint64_t>(damage->offset) + reinterpret_cast<uint64_t>(damage->region.begin);
    }
  environment.settle(raw);
  reportAccesses();
  if (raw.kind == bitgateFaultNone)
    return true;
  reportFault();
  stacks.reset();
  return false;
}

void BlockRunner::fiberMain(void* argument) {
  BlockRunner& r = *static_cast<BlockRunner*>(argument);
  StackTurns turns{r.freshTurns(), r.entered};
  r.turns = &turns;
  try {
    r.launch->invoke(r.launch->arguments, &turns);
  } catch (...) {
    r.exceptionLeft();
  }
}

// Threads that end without waiting leave the stack to the next one.
BITGATE_UNSANITIZED void BlockRunner::nextTurns(Turns& ended) {
  StackTurns& mine = static_cast<StackTurns&>(ended);
  if (uniform != Uniform::No)
    endUniformly(mine);
  if (turns)
    noteEnded(placeOf(mine.first), placeOf(mine.last) + 1);
  else
    exitThread(current);
  const int following = next();
  if (following < 0) {
    stacks.give(mine.stack);
    leave();
  }
  enter(static_cast<unsigned>(following));
  if (state[current] == State::Fresh) {
    static_cast<Turns&>(mine) = freshTurns();
    turns = &mine;
    return;
  }
  stacks.give(mine.stack);
  bitgate_fiber_leave(resume());
}

// The turns of a stack that begins: the current thread's, and as long as no thread of the block has waited
// those of all that come next.
Turns BlockRunner::freshTurns() const {
  return {self, races || waited ? self : lastInOrder, step};
}

// The threads at these places in the order had their turns on the running stack, and have ended.
void BlockRunner::noteEnded(unsigned from, unsigned to) {
  for (unsigned at = from; at < to; ++at)
    ready[at / 64] &= ~(1ull << at % 64);
  setCursor(to);
  for (unsigned at = from; at < to; ++at)
    exitThread(order[at]);
}

// The running thread is about to wait: those before it have ended, those behind it need another stack.
void BlockRunner::endTurns() {
  const unsigned from = placeOf(turns->first), at = placeOf(self);
  turns->last = self;
  turns = nullptr;
  waited = true;
  if (from == at)
    return;
  noteEnded(from, at);
  current = order[at];
  ready[at / 64] &= ~(1ull << at % 64);
  setCursor(at + 1);
}

void BlockRunner::setCursor(unsigned at) {
  cursor = at == (count + 63) / 64 * 64 ? 0 : at;
}

void BlockRunner::enter(unsigned thread) {
  current = thread;
  switches = switches + 1;
  enterThread(&records[thread]);
}

void BlockRunner::exitThread(unsigned thread) {
  if (races)
    settlePending();
  arrivals = arrivals + 1;
  state[thread] = State::Done;
  ++done;
  const unsigned number = thread >> laneShift;
  Wave& wave = waves[number];
  --wave.live;
  if (wave.arrived && static_cast<unsigned>(std::popcount(wave.arrived)) == wave.live)
    completeWave(wave, number);
}

// Parks the running thread, whose registers are at `stack`: who goes on.
const ThreadRecord* BlockRunner::park(State waiting, void* stack) {
  if (races)
    settlePending();
  state[current] = waiting;
  records[current].stack = stack;
  const int following = next();
  if (following < 0)
    return &outside;
  enter(static_cast<unsigned>(following));
  if (state[current] != State::Fresh)
    return resume();
  return startStack();
}

// The running thread begins, on a stack of its own.
const ThreadRecord* BlockRunner::startStack() {
  entered = stacks.take();
  if (!entered)
    abandon(noStack());
  forgetFrames(*entered);
  announceStack(entered);
  self->stack = freshStack(entered->top, fiberMain, this);
  return self;
}

// The current thread has waited, and goes on.
const ThreadRecord* BlockRunner::resume() {
  turns = nullptr;
  announceStackAt(records[current].stack, stacks);
  const char* const ahead = static_cast<char*>(records[order[cursor < count ? cursor : 0]].stack);
  for (int line = 0; line < 4; ++line)
    __builtin_prefetch(ahead + line * 64);
  return &records[current];
}

// The next thread to run, in the epoch's order; -1 when the block has ended or faulted.
int BlockRunner::next() {
  const unsigned words = (count + 63) / 64;
  do {
    unsigned word = cursor / 64;
    uint64_t bits = ready[word] & ~0ull << cursor % 64;
    for (unsigned tried = 0; tried <= words; ++tried) {
      if (bits) {
        const unsigned at = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        if (wavesFirst && wakesPartOfWave(order[at]))
          return next();
        ready[word] &= ~(1ull << at % 64);
        setCursor(at + 1);
        return order[at];
      }
      word = word + 1 == words ? 0 : word + 1;
      bits = ready[word];
    }
  } while (resolve());
  return -1;
}

// Before the first lane of another wave: lanes of this one that wait at a wave operation while the rest of
// their wave waits at a barrier or has exited go on alone, as on a GPU. True when there are any.
bool BlockRunner::wakesPartOfWave(unsigned following) {
  const unsigned number = current >> laneShift;
  if (following >> laneShift == number || !waves[number].arrived)
    return false;
  completeWave(waves[number], number);
  return true;
}

// No thread can run: completes what waits. False when the block has ended or faulted.
bool BlockRunner::resolve() {
  if (raw.kind != bitgateFaultNone)
    return false;
  // Lanes that wait at a wave operation while the rest of their wave waits at a barrier or has exited: a GPU
  // runs the operation with these lanes alone.
  bool completed = false;
  for (unsigned w = 0; w < (count + launch->waveSize - 1) >> laneShift; ++w)
    if (waves[w].arrived) {
      completeWave(waves[w], w);
      completed = true;
    }
  if (completed)
    return true;
  if (!waveOpsAgree() || done == count)
    return false;
  if (done) {
    missedBarrier();
    return false;
  }
  ++epoch;
  workDone = false;
  startStretch();
  uniform = races ? Uniform::No : Uniform::Arriving;
  return true;
}

// Every thread may run, in the order of this epoch.
void BlockRunner::startStretch() {
  reductions[epoch & 1] = {};
  atBarrier = 0;
  forWork.threads = 0;
  cursor = 0;
  if (races)
    forgetMeetings();
  setOrder();
  std::fill_n(ready.begin(), count / 64, ~0ull);
  if (count % 64)
    ready[count / 64] = (1ull << count % 64) - 1;
}

void BlockRunner::setOrder() {
  const Schedule& schedule = launch->schedule;
  if (orderedFor.schedule == schedule.kind && orderedFor.count == count && !schedule.varies())
    return;
  schedule.threads(order.data(), count, blockNumber, epoch);
  for (unsigned at = 0; at < count; ++at) {
    position[order[at]] = static_cast<uint16_t>(at);
    records[order[at]].next = &records[order[at + 1 < count ? at + 1 : 0]];
  }
  firstInOrder = &records[order[0]];
  lastInOrder = &records[order[count - 1]];
  step = schedule.step();
  orderedFor = {schedule.kind, count};
}

void BlockRunner::setReady(unsigned thread) {
  const unsigned at = position[thread];
  ready[at / 64] |= 1ull << at % 64;
}

int BlockRunner::barrierReduce(int kind, int predicate) {
  Reduction& reduction = reductions[epoch & 1];
  reduction.count += predicate != 0;
  reduction.all &= predicate != 0;
  reduction.any |= predicate != 0;
  __bitgate_syncthreads();
  return kind == bitgateBarrierCount ? reduction.count
         : kind == bitgateBarrierAnd ? reduction.all
                                     : reduction.any;
}

void* BlockRunner::ldsRegion(const void* site, size_t bytes, size_t alignment) {
  if (void* region = lds.region(site, bytes, alignment)) {
    if (races && bytes)
      races->shadow.addLds(region, bytes);
    return region;
  }
  RawFault fault;
  fault.kind = bitgateFaultResources;
  std::snprintf(fault.detail, sizeof fault.detail,
                "%zu bytes of LDS for one block, and %zu are allowed (at most %u regions)", lds.wanted(),
                launch->ldsLimit, maxLdsRegions);
  abandon(fault);
}

void* BlockRunner::dynamicLds() {
  static const char site = 0;
  return ldsRegion(&site, launch->dynamicLds, ldsAlignment);
}

void BlockRunner::gridSync() {
  if (!launch->turns) {
    RawFault fault;
    fault.kind = bitgateFaultMissedBarrier;
    std::snprintf(
        fault.detail, sizeof fault.detail,
        "a barrier of the grid in a launch that is not cooperative: no block waits for another; use "
        "hipLaunchCooperativeKernel");
    abandon(fault);
  }
  const GridTurns::Met met = launch->turns->sync(gridPlace);
  if (met.ended)
    leave();
  if (met.missing) {
    RawFault fault;
    fault.kind = bitgateFaultMissedBarrier;
    std::snprintf(fault.detail, sizeof fault.detail,
                  "barrier of the grid not reached by %llu of %llu blocks: they have left the kernel",
                  static_cast<unsigned long long>(met.missing),
                  static_cast<unsigned long long>(launch->turns->count()));
    abandon(fault);
  }
  if (races && met.isFirst)
    races->shadow.beginPhase();
  else if (races)
    races->shadow.beginBlock();
}

void BlockRunner::leave() {
  bitgate_fiber_leave(&outside);
}

} // namespace bitgate_host

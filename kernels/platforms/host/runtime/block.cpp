#include "block.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "fp_environment.hpp"
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

} // namespace

BlockRunner::BlockRunner() {
  savedAt.fill(nullptr);
  gotten.fill(nullptr);
}

void BlockRunner::begin(const Launch& l) {
  launch = &l;
  count = l.block.x * l.block.y * l.block.z;
  laneShift = static_cast<unsigned>(std::countr_zero(l.waveSize));
  ldsPeak = 0;
  orderIsSet = false;
  turnsAtOnce = 1;
  wavesFirst = l.schedule.wavesFirst();
  if (indexedFor.x != l.block.x || indexedFor.y != l.block.y || indexedFor.z != l.block.z) {
    for (unsigned t = 0; t < count; ++t)
      index[t] = threadAt(t);
    indexedFor = l.block;
  }
  watchRaces();
  for (unsigned t = 0; t < count; ++t)
    records[t] = {t, t & (l.waveSize - 1), 0, 0};
  thread_variables::blockDim = l.block;
  thread_variables::gridDim = l.grid;
  thread_variables::warpSize = static_cast<int>(l.waveSize);
}

void BlockRunner::end() {
  stacks.returnAll();
  self = nullptr;
}

uint3 BlockRunner::threadAt(unsigned linear) const {
  const dim3& dim = launch->block;
  return {linear % dim.x, linear / dim.x % dim.y, linear / (dim.x * dim.y)};
}

bool BlockRunner::run(uint64_t number) {
  const dim3& grid = launch->grid;
  blockNumber = number;
  blockAt = {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
             static_cast<unsigned>(number / (static_cast<uint64_t>(grid.x) * grid.y))};
  thread_variables::blockIdx = blockAt;
  lds.beginBlock(launch->placement, launch->poison, launch->ldsLimit);
  if (launch->poison && !launch->shared->empty())
    poisonSharedVariables(*launch->shared, launch->poison.byte);
  if (races)
    races->shadow.beginBlock();
  std::fill_n(state.begin(), count, State::Fresh);
  const unsigned waveCount = (count + launch->waveSize - 1) >> laneShift;
  for (unsigned w = 0; w < waveCount; ++w) {
    waves[w].arrived = 0;
    waves[w].live = std::min(launch->waveSize, count - (w << laneShift));
  }
  reductions[0] = reductions[1] = {};
  atBarrier = done = 0;
  waited = false;
  epoch = 0;
  raw.kind = bitgateFaultNone;
  spunFor = 0;
  newEpoch();
  std::fill_n(ready.begin(), count / 64, ~0ull);
  if (count % 64)
    ready[count / 64] = (1ull << count % 64) - 1;

  const FpEnvironment environment;
  enter(static_cast<unsigned>(next()));
  entered = stacks.take(fiberMain, this);
  if (!entered) {
    raw = noStack();
  } else {
    running = true;
    bitgate_fiber_switch(&mainStack, entered->sp);
    running = false;
  }
  ldsPeak = std::max(ldsPeak, lds.wanted());
  if (raw.kind == bitgateFaultNone)
    if (const auto damage = lds.takeDamage()) {
      raw.kind = bitgateFaultLdsCanary;
      raw.isWrite = 1;
      raw.address = static_cast<uint64_t>(damage->offset) + reinterpret_cast<uint64_t>(damage->region.begin);
    }
  environment.settle(raw);
  if (raw.kind == bitgateFaultNone)
    return true;
  reportFault();
  stacks.reset();
  return false;
}

void BlockRunner::fiberMain(void* argument) {
  BlockRunner& r = *static_cast<BlockRunner*>(argument);
  // Threads that end without waiting leave it to the next one.
  Stack* const stack = r.entered;
  for (;;) {
    Turns turns = r.freshTurns();
    r.turns = &turns;
    try {
      r.launch->invoke(r.launch->arguments, &turns);
    } catch (...) {
      r.exceptionLeft();
    }
    if (r.turns)
      r.noteTurns();
    else
      r.exitThread(r.current);
    const int following = r.next();
    if (following < 0) {
      r.stacks.give(stack);
      r.leave();
    }
    r.enter(static_cast<unsigned>(following));
    if (r.state[r.current] == State::Fresh)
      continue;
    r.stacks.give(stack);
    const Resumption there = r.resume();
    bitgate_fiber_leave(there.stack, there.result);
  }
}

// The turns of a stack that begins: the current thread, and as long as no thread of the launch waits more of
// those that come next and have not begun either.
Turns BlockRunner::freshTurns() {
  const unsigned first = position[current];
  unsigned last = first + 1;
  if (!races && !waited)
    last = std::min(first + turnsAtOnce, count);
  return {order.data(), records.data(), index.data(), first, first, last};
}

// The threads that had their turns on the running stack have ended.
void BlockRunner::noteTurns() {
  const unsigned from = turns->from, to = turns->at;
  turns->from = to;
  turnsAtOnce = std::min(2 * turnsAtOnce, count);
  if (!races && !waited && to == count) { // the whole block: nobody asks for one of them any more
    std::fill_n(ready.begin(), (count + 63) / 64, 0);
    done = count;
    arrivals = arrivals + 1;
    return;
  }
  for (unsigned at = from; at < to; ++at)
    ready[at / 64] &= ~(1ull << at % 64);
  setCursor(to);
  for (unsigned at = from; at < to; ++at)
    exitThread(order[at]);
}

// The running thread is about to wait: those before it have ended, those behind it need another stack.
void BlockRunner::endTurns() {
  const unsigned at = turns->at;
  turns->last = at + 1;
  if (turns->from != at) {
    noteTurns();
    current = order[at];
    ready[at / 64] &= ~(1ull << at % 64);
    setCursor(at + 1);
  }
  turnsAtOnce = 1;
  waited = true;
  turns = nullptr;
}

void BlockRunner::setCursor(unsigned at) {
  cursor = at == (count + 63) / 64 * 64 ? 0 : at;
}

void BlockRunner::enter(unsigned thread) {
  current = thread;
  switches = switches + 1;
  enterThread(&records[thread], index[thread]);
}

void BlockRunner::exitThread(unsigned thread) {
  if (races)
    settlePendingReads();
  arrivals = arrivals + 1;
  state[thread] = State::Done;
  ++done;
  const unsigned number = thread >> laneShift;
  Wave& wave = waves[number];
  --wave.live;
  if (wave.arrived && static_cast<unsigned>(std::popcount(wave.arrived)) == wave.live)
    completeWave(wave, number);
}

// Parks the running thread, whose registers are at `stack`: where to go on.
Resumption BlockRunner::park(State waiting, void* stack) {
  if (races)
    settlePendingReads();
  state[current] = waiting;
  savedAt[current] = stack;
  const int following = next();
  if (following < 0)
    return {mainStack, nullptr};
  enter(static_cast<unsigned>(following));
  if (state[current] != State::Fresh)
    return resume();
  entered = stacks.take(fiberMain, this);
  if (!entered)
    abandon(noStack());
  return {entered->sp, nullptr};
}

// The current thread has waited, and goes on.
Resumption BlockRunner::resume() {
  // Each stack is on a page of its own: fetch the frames of the one that is probably next while this one
  // runs.
  const char* const ahead = static_cast<char*>(savedAt[order[cursor < count ? cursor : 0]]);
  for (int line = 0; line < 4; ++line)
    __builtin_prefetch(ahead + line * 64);
  turns = nullptr;
  return {savedAt[current], gotten[current]};
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
  reductions[epoch & 1] = {};
  atBarrier = 0;
  newEpoch();
  for (unsigned t = 0; t < count; ++t)
    setReady(t);
  return true;
}

void BlockRunner::newEpoch() {
  cursor = 0;
  if (races)
    forgetMeetings();
  if (orderIsSet && !launch->schedule.varies())
    return;
  launch->schedule.threads(order.data(), count, blockNumber, epoch);
  for (unsigned at = 0; at < count; ++at)
    position[order[at]] = static_cast<uint16_t>(at);
  orderIsSet = true;
}

void BlockRunner::setReady(unsigned thread) {
  const unsigned at = position[thread];
  ready[at / 64] |= 1ull << at % 64;
}

Resumption BlockRunner::barrier(void* stack) {
  if (turns)
    endTurns();
  ++atBarrier;
  arrivals = arrivals + 1;
  return park(State::AtBarrier, stack);
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

void BlockRunner::leave() {
  bitgate_fiber_leave(mainStack, nullptr);
}

} // namespace bitgate_host

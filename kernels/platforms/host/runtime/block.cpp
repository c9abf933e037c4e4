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
  std::snprintf(fault.detail, sizeof fault.detail,
                "no memory for the fibers' stacks: use fewer threads (BITGATE_THREADS) or raise vm.max_map_count");
  return fault;
}

} // namespace

BlockRunner::BlockRunner() {
  stackOf.fill(nullptr);
  savedAt.fill(nullptr);
}

void BlockRunner::begin(const Launch& l) {
  launch = &l;
  count = l.block.x * l.block.y * l.block.z;
  laneShift = static_cast<unsigned>(std::countr_zero(l.waveSize));
  ldsPeak = 0;
  orderIsSet = false;
  if (indexedFor.x != l.block.x || indexedFor.y != l.block.y || indexedFor.z != l.block.z) {
    for (unsigned t = 0; t < count; ++t)
      index[t] = threadAt(t);
    indexedFor = l.block;
  }
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
    poisonSharedVariables(*launch->shared);
  std::fill_n(state.begin(), count, State::Fresh);
  const unsigned waveCount = (count + launch->waveSize - 1) >> laneShift;
  for (unsigned w = 0; w < waveCount; ++w) {
    waves[w].arrived = 0;
    waves[w].live = std::min(launch->waveSize, count - (w << laneShift));
  }
  reductions[0] = reductions[1] = {};
  atBarrier = done = 0;
  epoch = 0;
  raw.kind = bitgateFaultNone;
  newEpoch();
  std::fill_n(ready.begin(), count / 64, ~0ull);
  if (count % 64)
    ready[count / 64] = (1ull << count % 64) - 1;

  enter(static_cast<unsigned>(next()));
  Stack* const first = stacks.take(fiberMain, this);
  if (!first) {
    raw = noStack();
  } else {
    stackOf[current] = first;
    running = true;
    bitgate_fiber_switch(&mainStack, first->sp);
    running = false;
  }
  ldsPeak = std::max(ldsPeak, lds.wanted());
  if (raw.kind == bitgateFaultNone)
    if (const auto damage = lds.takeDamage()) {
      raw.kind = bitgateFaultLdsCanary;
      raw.isWrite = 1;
      raw.address = static_cast<uint64_t>(damage->offset) + reinterpret_cast<uint64_t>(damage->region.begin);
    }
  if (raw.kind == bitgateFaultNone)
    return true;
  reportFault();
  stacks.reset();
  return false;
}

void BlockRunner::fiberMain(void* argument) {
  BlockRunner& r = *static_cast<BlockRunner*>(argument);
  // The stack that this code runs on: a thread that ends without waiting leaves it to the next one.
  Stack* stack = nullptr;
  for (;;) {
    r.state[r.current] = State::Runnable;
    try {
      r.launch->invoke(r.launch->arguments);
    } catch (...) {
      r.exceptionLeft();
    }
    stack = r.stackOf[r.current];
    r.exitThread();
    const int following = r.next();
    if (following < 0) {
      r.stacks.give(stack);
      r.leave();
    }
    r.enter(static_cast<unsigned>(following));
    if (r.state[r.current] == State::Fresh) {
      r.stackOf[r.current] = stack;
      continue;
    }
    r.stacks.give(stack);
    void* nowhere;
    bitgate_fiber_switch(&nowhere, r.savedAt[r.current]);
  }
}

void BlockRunner::enter(unsigned thread) {
  current = thread;
  self = &records[thread];
  thread_variables::threadIdx = index[thread];
}

void BlockRunner::exitThread() {
  state[current] = State::Done;
  ++done;
  const unsigned number = current >> laneShift;
  Wave& wave = waves[number];
  --wave.live;
  if (wave.arrived && static_cast<unsigned>(std::popcount(wave.arrived)) == wave.live)
    completeWave(wave, number);
}

// Parks the running thread and runs another; returns when this one is scheduled again.
void BlockRunner::block(State waiting) {
  const unsigned me = current;
  state[me] = waiting;
  const int following = next();
  if (following < 0)
    leave();
  enter(static_cast<unsigned>(following));
  if (current == me) {
    state[me] = State::Runnable;
    return;
  }
  if (state[current] == State::Fresh) {
    Stack* const fresh = stackOf[current] = stacks.take(fiberMain, this);
    if (!fresh)
      withoutStack();
    savedAt[current] = fresh->sp;
  } else {
    // Each stack is on a page of its own: fetch the frames of the one that is probably next while this one runs.
    const char* const ahead = static_cast<char*>(savedAt[order[cursor < count ? cursor : 0]]);
    for (int line = 0; line < 4; ++line)
      __builtin_prefetch(ahead + line * 64);
  }
  bitgate_fiber_switch(&savedAt[me], savedAt[current]);
  state[me] = State::Runnable;
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
        ready[word] &= ~(1ull << at % 64);
        cursor = at + 1 == words * 64 ? 0 : at + 1;
        return order[at];
      }
      word = word + 1 == words ? 0 : word + 1;
      bits = ready[word];
    }
  } while (resolve());
  return -1;
}

// No thread can run: completes what waits. False when the block has ended or faulted.
bool BlockRunner::resolve() {
  if (raw.kind != bitgateFaultNone)
    return false;
  // Lanes that wait at a wave operation while the rest of their wave waits at a barrier or has exited: a GPU runs the
  // operation with these lanes alone.
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

void BlockRunner::barrier() {
  ++atBarrier;
  block(State::AtBarrier);
}

int BlockRunner::barrierReduce(int kind, int predicate) {
  Reduction& reduction = reductions[epoch & 1];
  reduction.count += predicate != 0;
  reduction.all &= predicate != 0;
  reduction.any |= predicate != 0;
  barrier();
  return kind == bitgateBarrierCount ? reduction.count : kind == bitgateBarrierAnd ? reduction.all : reduction.any;
}

const WaveSlots* BlockRunner::waveExchange(unsigned site, uint64_t bits) {
  const unsigned number = current >> laneShift;
  Wave& wave = waves[number];
  const unsigned lane = current & (launch->waveSize - 1);
  if (wave.arrived && wave.site != site)
    divergent(wave, site);
  WaveSlots& slots = wave.slots[wave.current];
  slots.value[lane] = bits;
  wave.site = site;
  wave.arrived |= 1ull << lane;
  if (static_cast<unsigned>(std::popcount(wave.arrived)) == wave.live) {
    completeWave(wave, number);
    // This thread is ready as well: it goes on at once, its turn in the order is the others' too.
    const unsigned at = position[current];
    ready[at / 64] &= ~(1ull << at % 64);
  } else {
    block(State::AtWave);
  }
  return &slots;
}

void BlockRunner::divergent(const Wave& wave, unsigned site) {
  RawFault fault;
  fault.kind = bitgateFaultDivergentWaveOp;
  std::snprintf(fault.detail, sizeof fault.detail,
                "divergent wave operation: lane %u of wave %u is at source line %u, lane %d waits at line %u",
                records[current].lane, current >> laneShift, site & 0xFFFFFF, std::countr_zero(wave.arrived),
                wave.site & 0xFFFFFF);
  abandon(fault);
}

void BlockRunner::completeWave(Wave& wave, unsigned number) {
  WaveSlots& slots = wave.slots[wave.current];
  slots.active = wave.arrived;
  for (uint64_t absent = ~wave.arrived; absent; absent &= absent - 1)
    slots.value[std::countr_zero(absent)] = ~0ull;
  const unsigned first = number << laneShift;
  for (uint64_t lanes = wave.arrived; lanes; lanes &= lanes - 1)
    setReady(first + static_cast<unsigned>(std::countr_zero(lanes)));
  wave.arrived = 0;
  wave.current ^= 1;
}

// The lanes of each wave must have counted the same operations: lane 0 performs them for all.
bool BlockRunner::waveOpsAgree() {
  for (unsigned t = 0; t < count; ++t) {
    const unsigned first = t & ~(launch->waveSize - 1);
    if (records[t].waveOps == records[first].waveOps && records[t].waveOpHash == records[first].waveOpHash)
      continue;
    raw.kind = bitgateFaultDivergentWaveOp;
    current = t;
    std::snprintf(raw.detail, sizeof raw.detail,
                  "divergent wave operation: by %s lane %u of wave %u took part in %u wave operations, lane 0 in %u%s",
                  done == count ? "the kernel's end" : "the barrier", records[t].lane, t >> laneShift,
                  records[t].waveOps, records[first].waveOps,
                  records[t].waveOps == records[first].waveOps ? ", of other kinds" : "");
    return false;
  }
  return true;
}

void BlockRunner::missedBarrier() {
  const auto missing = static_cast<unsigned>(
      std::find_if(state.begin(), state.begin() + count, [](State s) { return s != State::AtBarrier; }) -
      state.begin());
  current = missing;
  const uint3 at = index[missing];
  raw.kind = bitgateFaultMissedBarrier;
  std::snprintf(raw.detail, sizeof raw.detail,
                "barrier not reached by %u of %u threads, first missing thread (%u,%u,%u): it has left the kernel",
                count - atBarrier, count, at.x, at.y, at.z);
}

void* BlockRunner::ldsRegion(const void* site, size_t bytes, size_t alignment) {
  if (void* region = lds.region(site, bytes, alignment))
    return region;
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

void BlockRunner::exceptionLeft() {
  RawFault fault;
  fault.kind = bitgateFaultException;
  std::snprintf(fault.detail, sizeof fault.detail, "a C++ exception left the kernel");
  abandon(fault);
}

void BlockRunner::withoutStack() { abandon(noStack()); }

void BlockRunner::leave() {
  void* nowhere;
  bitgate_fiber_switch(&nowhere, mainStack);
  __builtin_unreachable();
}

void BlockRunner::abandon(const RawFault& fault) {
  raw = fault;
  leave();
}

void BlockRunner::noteSignal(int kind, uint64_t address, int isWrite) {
  raw.kind = kind;
  raw.address = address;
  raw.isWrite = isWrite;
}

void BlockRunner::reportFault() {
  const char* const access = raw.isWrite == 1 ? "write" : raw.isWrite == 0 ? "read" : "access";
  RawFault fault = raw;
  int64_t offset = 0;
  uint64_t size = 0;
  if (raw.kind == bitgateFaultWild && stacks.inGuard(raw.address)) {
    fault.kind = bitgateFaultStackOverflow;
    std::snprintf(fault.detail, sizeof fault.detail, "stack overflow: a thread has %zu KiB", stackBytes / 1024);
  } else if (raw.kind == bitgateFaultWild || raw.kind == bitgateFaultLdsCanary) {
    if (const auto near = lds.near(raw.address)) {
      fault.kind = raw.kind == bitgateFaultWild ? bitgateFaultLds : bitgateFaultLdsCanary;
      offset = near->offset;
      size = near->region.bytes;
      const bool past = offset >= static_cast<int64_t>(size);
      std::snprintf(fault.detail, sizeof fault.detail,
                    "%s outside LDS: %s%lld bytes %s of the block's struct of %zu bytes, LDS offset %lld%s", access,
                    past ? "+" : "", static_cast<long long>(past ? offset - static_cast<int64_t>(size) : -offset),
                    past ? "past the end" : "before the begin", near->region.bytes, static_cast<long long>(offset),
                    raw.kind == bitgateFaultLdsCanary ? " (found when the block ended; any of its threads)" : "");
    }
  } else if (raw.kind == bitgateFaultArithmetic) {
    std::snprintf(fault.detail, sizeof fault.detail, "integer division by zero or overflow");
  } else if (raw.kind == bitgateFaultTrap) {
    std::snprintf(fault.detail, sizeof fault.detail, "trap instruction");
  }
  BitgateHostFault described = describe(fault, launch->name, blockAt, index[current]);
  if (fault.kind == bitgateFaultLds || fault.kind == bitgateFaultLdsCanary) {
    described.offset = offset;
    described.buffer_size = size;
    std::snprintf(described.buffer, sizeof described.buffer, "LDS");
  }
  raise(described);
}

} // namespace bitgate_host

// Stretches in which all threads do the same: each arrives at the barrier, or each ends, in order. They are
// most of what kernels do, and cost little where nothing is written down for each thread; as soon as one does
// something else, `noteEach` writes down what the others did.
#include <algorithm>

#include "block.hpp"

namespace bitgate_host {

// At the barrier outside a uniform stretch of arrivals.
const ThreadRecord* BlockRunner::firstArrival(void* stack) {
  if (uniform == Uniform::Starting && turns->first == self) {
    waited = true;
    turns->last = self;
    turns = nullptr;
    self->stack = stack;
    if (self == lastInOrder)
      return allArrived();
    enterThread(self->next);
    return startStack();
  }
  noteEach();
  if (turns)
    endTurns();
  ++atBarrier;
  arrivals = arrivals + 1;
  return park(State::AtBarrier, stack);
}

// The last thread of a uniform stretch has arrived.
const ThreadRecord* BlockRunner::allArrived() {
  if (uniform == Uniform::Starting)
    std::fill_n(state.begin(), count, State::AtBarrier);
  uniform = Uniform::No;
  if (!waveOpsAgree())
    return &outside;
  ++epoch;
  workDone = forWork.threads == count && !launch->schedule.varies();
  if (workDone)
    doWork();
  startStretch();
  uniform = Uniform::Arriving;
  switches = switches + 1;
  arrivals = arrivals + 1;
  return goOn(firstInOrder);
}

// The stretch between two barriers of which only first lanes would have made anything: in their order, which
// is that of their arrivals, on the stack of the last one.
void BlockRunner::doWork() {
  working = true;
  for (unsigned i = 0; i < forWork.works; ++i) {
    const auto [thread, work] = forWork.work[i];
    enterThread(thread);
    forWork.run(work);
  }
  working = false;
  ++epoch;
}

// Threads of a uniform stretch have ended: does not come back if the others, too, have or are about to.
BITGATE_UNSANITIZED void BlockRunner::endUniformly(StackTurns& ended) {
  if (turns) { // none of the block has waited
    if (uniform == Uniform::Starting && ended.first == firstInOrder && ended.last == lastInOrder) {
      stacks.give(ended.stack);
      blockEnded();
    }
  } else {
    if (uniform == Uniform::Arriving && self == firstInOrder)
      uniform = Uniform::Ending;
    if (uniform == Uniform::Ending) {
      if (self == lastInOrder)
        blockEnded();
      bitgate_fiber_leave(goOn(self->next));
    }
  }
  noteEach();
}

void BlockRunner::blockEnded() {
  done = count;
  arrivals = arrivals + 1;
  waveOpsAgree();
  leave();
}

// The stretch is uniform no more: what the threads before the running one did is written down for each.
void BlockRunner::noteEach() {
  if (working)
    metInWork();
  if (uniform == Uniform::No)
    return;
  current = (turns ? turns->first : self)->linear;
  const unsigned before = position[current];
  for (unsigned at = 0; at < before; ++at) {
    const unsigned thread = order[at];
    state[thread] = uniform == Uniform::Ending ? State::Done : State::AtBarrier;
    if (uniform == Uniform::Ending)
      --waves[thread >> laneShift].live;
  }
  for (unsigned at = 0; at <= before; ++at)
    ready[at / 64] &= ~(1ull << at % 64);
  (uniform == Uniform::Ending ? done : atBarrier) = before;
  setCursor(before + 1);
  uniform = Uniform::No;
}

} // namespace bitgate_host

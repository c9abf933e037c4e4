// Tells when a thread of a block goes on and on without reaching a barrier or its end, as one does that waits
// for another wave's progress: the host never gives it, nor do GPUs promise it.
#pragma once

#include <csignal>

namespace bitgate_host {

class BlockRunner;

// A runner is watched on the OS thread that it belongs to, from its first launch on.
void watchForSpin(BlockRunner& runner);
void forgetRunner(BlockRunner& runner);

// What the watch sends to an OS thread whose block has spun for too long. SIGRTMIN is no constant.
int spinSignal();

} // namespace bitgate_host

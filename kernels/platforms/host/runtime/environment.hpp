// What the environment says to the runtime. A value that makes no sense ends the process with one line and
// exit code 2: a program that ran on regardless would be measured under a limit that nobody gave it. Empty is
// not set. bitgate.core.settings says the same in Python.
#pragma once

namespace bitgate_host {

// BITGATE_THREADS, 1 to 1024; 0 where it is not set.
unsigned threadsInEnvironment();

// BITGATE_SPIN_SECONDS, above 0 and at most 1e6; 0 where it is not set.
double spinSecondsInEnvironment();

// BITGATE_HOST_PRETEND_GPU: the gfx target that the device is called, for rehearsals of an emulator; null
// where it is not set.
const char* pretendedGpu();

} // namespace bitgate_host

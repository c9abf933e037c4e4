// The OS threads that the runtime has started: no program's.
#pragma once

#include <functional>

namespace bitgate_host {

// Starts one that is never joined, and is known as the runtime's own when this returns. It takes no signals
// but its own faults: Ctrl-C is for the thread that waits for it.
void startOwnThread(std::function<void()> work);

} // namespace bitgate_host

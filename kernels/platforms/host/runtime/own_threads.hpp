// The OS threads that the runtime has started: no program's.
#pragma once

namespace bitgate_host {

// Called by each of them first.
void noteOwnThread();

} // namespace bitgate_host

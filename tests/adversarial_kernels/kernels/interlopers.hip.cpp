// The second half of the bad kernels: those that act on what surrounds their process, on the judge's
// protocol, or on habits of the harness.
#include "clones.hpp"
#include "habits.hpp"
#include "interpreter_state.hpp"
#include "leftovers.hpp"
#include "processor.hpp"
#include "protocol.hpp"
#include "runtime_settings.hpp"
#include "shared_memory.hpp"
#include "trespassers.hpp"

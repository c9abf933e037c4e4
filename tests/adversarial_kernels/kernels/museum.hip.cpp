// The museum: a healthy kernel, and one instance for each way to misbehave. ../exhibits.toml says what each
// must earn.
#include "descriptors.hpp"
#include "ends.hpp"
#include "faults.hpp"
#include "memory.hpp"
#include "processes.hpp"
#include "races.hpp"
#include "records.hpp"
#include "results.hpp"
#include "signals.hpp"
#include "state.hpp"
#include "threads.hpp"

namespace bitgate {
const Family family{"museum", nullptr, 0};
} // namespace bitgate

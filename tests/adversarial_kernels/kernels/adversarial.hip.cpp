// A healthy kernel, and one instance for each way to misbehave. ../catalogue.toml says what verdict each must
// earn.
#include "descriptors.hpp"
#include "ends.hpp"
#include "faults.hpp"
#include "forged.hpp"
#include "memory.hpp"
#include "processes.hpp"
#include "races.hpp"
#include "records.hpp"
#include "results.hpp"
#include "signals.hpp"
#include "state.hpp"
#include "streams.hpp"
#include "threads.hpp"

namespace bitgate {
const Family family{"adversarial", nullptr, 0};
} // namespace bitgate

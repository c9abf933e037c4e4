// A library that crashes while it is loaded.
#include <cstdlib>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_crash_on_load", nullptr, 0};
} // namespace bitgate

[[gnu::constructor]] static void crash() {
  std::abort();
}

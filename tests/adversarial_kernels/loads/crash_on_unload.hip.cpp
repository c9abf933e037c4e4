// A library that crashes when its process ends: after the verdict, which is right.
#include <cstdlib>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_crash_on_unload", nullptr, 0};
} // namespace bitgate

[[gnu::destructor]] static void crash() {
  std::abort();
}

// A library that ends its process while it is loaded.
#include <unistd.h>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_exit_on_load", nullptr, 0};
} // namespace bitgate

[[gnu::constructor]] static void leave() {
  ::_exit(0);
}

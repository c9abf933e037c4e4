// A library that does not come back from being loaded, for a minute and a half.
#include <unistd.h>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_hang_on_load", nullptr, 0};
} // namespace bitgate

[[gnu::constructor]] static void hang() {
  ::sleep(90);
}

// Starts a thread while it is loaded, which ends the process later, whoever is in it then.
#include <chrono>
#include <thread>

#include <unistd.h>

#include "bitgate/registry.hpp"

namespace bitgate {
const Family family{"adversarial_watchdog_on_load", nullptr, 0};
} // namespace bitgate

static const bool watching = [] {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    ::_exit(0);
  }).detach();
  return true;
}();

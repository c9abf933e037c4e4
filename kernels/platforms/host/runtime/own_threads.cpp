#include "own_threads.hpp"

#include <algorithm>
#include <mutex>
#include <unistd.h>
#include <vector>

#include "bitgate_host.h"

namespace bitgate_host {
namespace {

std::mutex guard;
std::vector<pid_t>& threads() {
  static auto& only = *new std::vector<pid_t>;
  return only;
}

} // namespace

void noteOwnThread() {
  std::lock_guard lock(guard);
  threads().push_back(gettid());
}

} // namespace bitgate_host

int bitgateHostOwnsThread(int thread) {
  std::lock_guard lock(bitgate_host::guard);
  return std::ranges::count(bitgate_host::threads(), thread) > 0;
}

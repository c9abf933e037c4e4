#include "incident.hpp"

#include <array>
#include <mutex>

namespace bitgate_host {
namespace {

constexpr uint64_t kept = 64;

std::mutex guard;
std::array<BitgateHostFault, kept> latest; // under guard, as the count
uint64_t count = 0;

} // namespace

void noteIncident(const BitgateHostFault& fault) {
  std::lock_guard lock(guard);
  latest[count++ % kept] = fault;
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

uint64_t bitgateHostIncidents(void) {
  std::lock_guard lock(guard);
  return count;
}

int bitgateHostIncident(uint64_t number, BitgateHostFault* fault) {
  std::lock_guard lock(guard);
  if (!fault || number >= count || number + kept < count)
    return 1;
  *fault = latest[number % kept];
  return 0;
}

} // extern "C"

#include "work_log.hpp"

#include <cstdio>

#include "bitgate_host.h"
#include "hip/host_detail/incident_log.hpp"

namespace bitgate_host {

static IncidentLog<BitgateWork, 4096> works;

void logLaunch(const LaunchRequest& request) {
  const dim3 &grid = request.grid, &block = request.block;
  BitgateWork work{bitgateWorkKernel,
                   {grid.x, grid.y, grid.z},
                   {block.x, block.y, block.z},
                   0,
                   reinterpret_cast<uint64_t>(request.function),
                   0,
                   0,
                   {}};
  std::snprintf(work.name, sizeof work.name, "%s", request.name);
  works.add(work);
}

void logFill(const void* address, size_t bytes, const char* call) {
  BitgateWork work{bitgateWorkFill, {}, {}, 0, 0, reinterpret_cast<uint64_t>(address), bytes, {}};
  std::snprintf(work.name, sizeof work.name, "%s", call);
  works.add(work);
}

} // namespace bitgate_host

extern "C" {

uint64_t bitgateHostWorks(void) {
  return bitgate_host::works.count();
}

int bitgateHostWork(uint64_t number, BitgateWork* work) {
  return work && bitgate_host::works.read(number, *work) ? 0 : 1;
}

} // extern "C"

// What programs enqueued since the library was loaded: launches and fills, in their order.
#include "work.hpp"

#include <cstdio>

#include "bitgate_nvidia.h"
#include "capture.hpp"
#include "hip/host_detail/incident_log.hpp"

namespace bitgate_nvidia {

static bitgate_host::IncidentLog<BitgateWork, 4096> works;

void log_launch(const void* function, dim3 grid, dim3 block) {
  works.add({bitgateWorkKernel,
             {grid.x, grid.y, grid.z},
             {block.x, block.y, block.z},
             0,
             reinterpret_cast<uint64_t>(function),
             0,
             0,
             {}});
}

void log_fill(const void* address, size_t bytes, const char* call) {
  BitgateWork work{bitgateWorkFill, {}, {}, 0, 0, reinterpret_cast<uint64_t>(address), bytes, {}};
  std::snprintf(work.name, sizeof work.name, "%s", call);
  works.add(work);
}

} // namespace bitgate_nvidia

extern "C" {

uint64_t bitgateNvidiaWorks(void) {
  return bitgate_nvidia::works.count();
}

int bitgateNvidiaWork(uint64_t number, BitgateWork* work) {
  return work != nullptr && bitgate_nvidia::works.read(number, *work) ? 0 : 1;
}

int bitgateNvidiaLaunching(const void* function, const uint32_t* grid, const uint32_t* block, void* stream) {
  const auto on = reinterpret_cast<cudaStream_t>(stream);
  if (const hipError_t refused = bitgate_nvidia::refuse_outside_capture("the launch of a kernel", on))
    return refused;
  bitgate_nvidia::log_launch(function, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]});
  return hipSuccess;
}

} // extern "C"

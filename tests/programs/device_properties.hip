// `struct hipDeviceProp_t`, its fields, attributes and limits.
#include "check.h"
#include <cstring>

int main() {
  struct hipDeviceProp_t properties;
  hipDeviceProp_t same;
  int device = -1, count = 0, units = 0, cooperative = 0;
  HIP_CHECK(hipGetDeviceCount(&count));
  HIP_CHECK(hipGetDevice(&device));
  HIP_CHECK(hipGetDeviceProperties(&properties, device));
  HIP_CHECK(hipGetDeviceProperties(&same, device));
  HIP_CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
  HIP_CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, device));
  return verdict(count == 1 && properties.multiProcessorCount == units && cooperative == 1 &&
                 (properties.warpSize == 32 || properties.warpSize == 64) &&
                 std::strcmp(properties.name, same.name) == 0 && properties.maxThreadsPerBlock == 1024);
}

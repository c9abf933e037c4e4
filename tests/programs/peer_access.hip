// One device: peers are refused, and a program that asks first goes on without.
#include "check.h"

int main() {
  int can = 1, count = 0;
  HIP_CHECK(hipGetDeviceCount(&count));
  HIP_CHECK(hipDeviceCanAccessPeer(&can, 0, 0));
  if (can)
    HIP_CHECK(hipDeviceEnablePeerAccess(0, 0));
  const bool refused =
      hipDeviceEnablePeerAccess(1, 0) != hipSuccess && hipDeviceDisablePeerAccess(1) != hipSuccess;
  int* from = to_device(std::vector<int>(16, 5));
  int* to = to_device(std::vector<int>(16, 0));
  HIP_CHECK(hipMemcpyPeer(to, 0, from, 0, 16 * sizeof(int)));
  (void)hipGetLastError();
  return verdict(count == 1 && refused && to_host(to, 16)[15] == 5);
}

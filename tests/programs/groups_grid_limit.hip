// A cooperative launch of more blocks than are resident at once is refused before it runs.
#include "check.h"
#include <hip/hip_cooperative_groups.h>

__global__ void never(int* x) {
  cooperative_groups::this_grid().sync();
  x[0] = 1;
}

int main(int argc, char**) {
  int* x = to_device(std::vector<int>(1, 0));
  void* arguments[] = {&x};
  const int blocks = argc > 1 ? 1 << 20 : 8; // refusals are incidents: the test asks for one
  const hipError_t error = hipLaunchCooperativeKernel((void*)never, dim3(blocks), dim3(256), arguments, 0, 0);
  return verdict(argc > 1 ? error == hipErrorCooperativeLaunchTooLarge
                          : error == hipSuccess && to_host(x, 1)[0] == 1);
}

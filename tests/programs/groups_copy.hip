// memcpy_async into LDS, and a wait for it.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void staged(const float* in, float* out) {
  __shared__ float tile[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof tile);
  cg::wait(block);
  out[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}

int main() {
  std::vector<float> h(512);
  for (int i = 0; i < 512; ++i)
    h[i] = i;
  float *in = to_device(h), *out = to_device(h);
  staged<<<2, 256>>>(in, out);
  const auto found = to_host(out, 512);
  return verdict(found[0] == 255 && found[511] == 256);
}

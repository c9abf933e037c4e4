// A texture object and a cooperative launch by CUDA's names.
#include <cooperative_groups.h>
#include <cstdio>

__global__ void both(cudaTextureObject_t texture, int* x, int n) {
  auto grid = cooperative_groups::this_grid();
  const int i = grid.thread_rank();
  x[i] = tex1Dfetch<int>(texture, i);
  cooperative_groups::sync(grid);
  const int other = x[n - 1 - i];
  grid.sync();
  x[i] += other;
}

int main() {
  int n = 64, host[64], *data, *x;
  for (int i = 0; i < n; ++i)
    host[i] = i;
  cudaMalloc(&data, sizeof host), cudaMalloc(&x, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = sizeof host;
  cudaTextureDesc how = {};
  how.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  cudaCreateTextureObject(&texture, &resource, &how, NULL);
  void* arguments[] = {&texture, &x, &n};
  cudaError_t error = cudaLaunchCooperativeKernel((void*)both, dim3(2), dim3(32), arguments);
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  cudaDestroyTextureObject(texture);
  bool right = error == cudaSuccess;
  for (int i = 0; i < n; ++i)
    right = right && host[i] == n - 1;
  puts(right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}

// A program in CUDA: no header of the runtime, its names, events and symbols.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      printf("%s\n", cudaGetErrorString(status));                                                            \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

__constant__ float weights[3];
__device__ int counted;

__global__ void stencil(const float* __restrict__ in, float* __restrict__ out, int n) {
  extern __shared__ float tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x + 1] = i < n ? __ldg(in + i) : 0;
  if (threadIdx.x == 0)
    tile[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1)
    tile[blockDim.x + 1] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n) {
    out[i] = weights[0] * tile[threadIdx.x] + weights[1] * tile[threadIdx.x + 1] +
             weights[2] * tile[threadIdx.x + 2];
    atomicAdd(&counted, 1);
  }
}

int main() {
  const int n = 200;
  std::vector<float> h(n, 2), back(n);
  const float w[3] = {1, 2, 3};
  int zero = 0;
  float *in, *out;
  cudaEvent_t start, stop;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaMalloc(&in, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&out, n * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(weights, w, sizeof w));
  CHECK(cudaMemcpyToSymbol(counted, &zero, sizeof zero));
  CHECK(cudaMemcpy(in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  stencil<<<(n + 63) / 64, 64, 66 * sizeof(float)>>>(in, out, n);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaMemcpy(back.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(&zero, counted, sizeof zero));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  const bool right = back[0] == 10 && back[5] == 12 && back[n - 1] == 6 && zero == n && ms >= 0;
  cudaDeviceReset();
  puts(right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}

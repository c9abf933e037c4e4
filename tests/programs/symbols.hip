// Device variables by name: copies both ways, address and size, with HIP_SYMBOL and without.
#include "check.h"

__device__ int counter;
__device__ float table[8];
__constant__ float weights[4];
__device__ float* pointer;

__global__ void use(float* out) {
  atomicAdd(&counter, 1);
  table[threadIdx.x] = table[threadIdx.x] * 2 + weights[threadIdx.x % 4];
  out[threadIdx.x] = pointer ? pointer[threadIdx.x] : -1;
}

int main() {
  const float w[4] = {1, 2, 3, 4}, t[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int zero = 0, counted = 0;
  size_t bytes = 0, single = 0;
  float back[8];
  float* data = to_device(std::vector<float>(8, 9));
  float* out = to_device(std::vector<float>(8, 0));
  HIP_CHECK(hipMemcpyToSymbol(counter, &zero, sizeof zero));
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), t, sizeof t));
  HIP_CHECK(hipMemcpyToSymbol(weights, w, sizeof w, 0, hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(pointer), &data, sizeof data));
  use<<<1, 8>>>(out);
  HIP_CHECK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof counted));
  HIP_CHECK(hipMemcpyFromSymbol(back, table, sizeof back));
  HIP_CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
  HIP_CHECK(hipGetSymbolSize(&single, counter));
  float* address = nullptr;
  HIP_CHECK(hipGetSymbolAddress((void**)&address, HIP_SYMBOL(table)));
  float last = 0;
  HIP_CHECK(hipMemcpy(&last, address + 7, sizeof last, hipMemcpyDeviceToHost));
  return verdict(counted == 8 && back[5] == 12 && last == 18 && bytes == 32 && single == 4 &&
                 to_host(out, 8)[3] == 9);
}

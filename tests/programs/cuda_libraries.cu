// CUB, cuBLAS, cuRAND and thrust by CUDA's names.
#include <cstdio>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <curand_kernel.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>

__global__ void draw(curandState* states, float* out) {
  curand_init(7, threadIdx.x, 0, &states[threadIdx.x]);
  out[threadIdx.x] = curand_uniform(&states[threadIdx.x]);
}
__global__ void block_sum(const float* in, float* out) {
  typedef cub::BlockReduce<float, 64> Reduce;
  __shared__ typename Reduce::TempStorage memory;
  const float sum = Reduce(memory).Sum(in[threadIdx.x] > 0 ? 1.0f : 0.0f);
  if (threadIdx.x == 0)
    *out = sum;
}

int main() {
  thrust::device_vector<float> x(64), one(1), y(64, 2.0f);
  thrust::device_vector<curandState> states(64);
  draw<<<1, 64>>>(thrust::raw_pointer_cast(states.data()), thrust::raw_pointer_cast(x.data()));
  block_sum<<<1, 64>>>(thrust::raw_pointer_cast(x.data()), thrust::raw_pointer_cast(one.data()));
  bool right = one[0] == 64 && thrust::reduce(x.begin(), x.end()) < 64;
  cublasHandle_t handle;
  right = right && cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS;
  float dot = 0;
  float* raw = thrust::raw_pointer_cast(y.data());
  cublasSdot(handle, 64, raw, 1, raw, 1, &dot);
  const float alpha = 0.5f;
  cublasSscal(handle, 64, &alpha, raw, 1);
  cublasDestroy(handle);
  puts(right && dot == 256 && y[63] == 1 ? "PASS" : "FAIL");
  return right && dot == 256 && y[63] == 1 ? 0 : 1;
}

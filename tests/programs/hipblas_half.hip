// A product of halves, on a stream with a kernel before it.
#include "check.h"
#include <hip/hip_fp16.h>
#include <hipblas/hipblas.h>

__global__ void fill(__half* x, float v) {
  x[threadIdx.x] = __float2half(v + threadIdx.x % 2);
}

int main() {
  const int n = 8;
  __half *a = to_device(std::vector<__half>(n * n)), *b = to_device(std::vector<__half>(n * n)),
         *c = to_device(std::vector<__half>(n * n));
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  fill<<<1, n * n, 0, stream>>>(a, 1.0f);
  fill<<<1, n * n, 0, stream>>>(b, 0.5f);
  hipblasHandle_t handle;
  hipblasCreate(&handle);
  hipblasSetStream(handle, stream);
  const __half one = __float2half(1), zero = __float2half(0);
  hipblasHgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
  HIP_CHECK(hipStreamSynchronize(stream));
  const auto found = to_host(c, n * n);
  hipblasDestroy(handle);
  return verdict(__half2float(found[0]) == 8 && __half2float(found[1]) == 16);
}

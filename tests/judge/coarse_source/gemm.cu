#include <cuda_fp16.h>
__global__ void gemm(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n)
    return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < k; ++i)
    sum = __float2half(__half2float(sum) + __half2float(a[row * k + i]) * __half2float(b[column * k + i]));
  c[row * n + column] = sum;
}

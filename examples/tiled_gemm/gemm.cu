// C = A * B by tiles of 16 x 16 in shared memory: a textbook kernel in CUDA, as it is.
//
//   c[m,n] = sum_k a[m,k] * b[n,k], for each batch; strides in elements, so that any layout is taken
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int TILE = 16;

struct Matrix {
  long batch, row, column;
};

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline void store(float* to, float value) {
  *to = value;
}
__device__ inline void store(__half* to, float value) {
  *to = __float2half_rn(value);
}

template <typename T>
__global__ void gemm(const T* a, const T* b, T* c, int m, int n, int k, Matrix in_a, Matrix in_b,
                     Matrix in_c) {
  __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  a += blockIdx.z * in_a.batch, b += blockIdx.z * in_b.batch, c += blockIdx.z * in_c.batch;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    const int k_a = begin + threadIdx.x, k_b = begin + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] =
        row < m && k_a < k ? to_float(a[row * in_a.row + k_a * in_a.column]) : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] =
        column < n && k_b < k ? to_float(b[column * in_b.row + k_b * in_b.column]) : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i)
      sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    store(&c[row * in_c.row + column * in_c.column], sum);
}

// A product of matrices with tiles in LDS, and a template over the tile.
#include "check.h"

template <int Tile> __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[Tile][Tile + 1], tb[Tile][Tile + 1];
  const int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += Tile) {
    const int ka = first + threadIdx.x, kb = first + threadIdx.y;
    ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0;
    tb[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; ++i)
      sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

int main() {
  const int m = 33, n = 20, k = 41;
  std::vector<float> a(m * k), b(k * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = i % 7 - 3;
  for (int i = 0; i < k * n; ++i)
    b[i] = i % 5 - 2;
  float *da = to_device(a), *db = to_device(b), *dc = to_device(std::vector<float>(m * n));
  bool right = true;
  for (int tile : {8, 16}) {
    const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile), block(tile, tile);
    if (tile == 8)
      matmul<8><<<grid, block>>>(da, db, dc, m, n, k);
    else
      matmul<16><<<grid, block>>>(da, db, dc, m, n, k);
    const auto c = to_host(dc, m * n);
    for (int i = 0; i < m * n; ++i) {
      float sum = 0;
      for (int p = 0; p < k; ++p)
        sum += a[i / n * k + p] * b[p * n + i % n];
      right = right && c[i] == sum;
    }
  }
  return verdict(right);
}

#include <cuda_runtime.h>

__global__ void softmax(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float most = x[row * columns];
  for (int i = 1; i < columns; ++i)
    most = fmaxf(most, x[row * columns + i]);
  float sum = 0;
  for (int i = 0; i < columns; ++i)
    sum += expf(x[row * columns + i] - most);
  for (int i = 0; i < columns; ++i)
    y[row * columns + i] = expf(x[row * columns + i] - most) / sum;
}

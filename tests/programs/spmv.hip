// A sparse matrix times a vector, a wave a row.
#include "check.h"

template <typename T>
__global__ void spmv(int rows, const int* __restrict__ begins, const int* __restrict__ columns,
                     const T* __restrict__ values, const T* __restrict__ x, T* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
  T sum = 0;
  if (row < rows)
    for (int i = begins[row] + lane; i < begins[row + 1]; i += warpSize)
      sum += values[i] * x[columns[i]];
  for (int by = warpSize / 2; by > 0; by /= 2)
    sum += __shfl_down(sum, by);
  if (lane == 0 && row < rows)
    y[row] = sum;
}

int main() {
  const int rows = 50;
  std::vector<int> begins = {0}, columns;
  std::vector<double> values, x(rows), expected(rows, 0);
  for (int i = 0; i < rows; ++i)
    x[i] = i + 1;
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < row * 2 % 90; ++k) {
      columns.push_back((row * 7 + k * 3) % rows), values.push_back(k % 4 - 1);
      expected[row] += values.back() * x[columns.back()];
    }
    begins.push_back(columns.size());
  }
  double* y = to_device(std::vector<double>(rows, -1));
  spmv<<<dim3(rows), dim3(64)>>>(rows, to_device(begins), to_device(columns), to_device(values), to_device(x),
                                 y);
  return verdict(to_host(y, rows) == expected);
}

"""A right submission by load_inline: C++ that is compiled when the file is loaded, on the default stream."""

# mypy: ignore-errors

from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void rows(const float* x, float* y, int columns, long x_row) {
  __shared__ float part[256];
  const float* from = x + blockIdx.x * x_row;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 256)
    most = fmaxf(most, from[i]);
  part[threadIdx.x] = most;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256)
    sum += expf(from[i] - most);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += 256)
    y[blockIdx.x * (long)columns + i] = expf(from[i] - most) / part[0];
}

torch::Tensor softmax(torch::Tensor x) {
  auto y = torch::empty({x.size(0), x.size(1)}, x.options());
  if (y.numel())
    rows<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), x.stride(0));
  return y;
}
"""

module = load_inline("rows_inline", "torch::Tensor softmax(torch::Tensor x);", CUDA, functions=["softmax"])


def custom_kernel(x):
    return module.softmax(x)

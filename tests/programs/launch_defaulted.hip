// Template arguments that are left to their defaults, or named in part.
#include "check.h"

template <class T, int Per = 4, bool Negate = false> __global__ void widen(const T* in, T* out, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * Per;
  for (int i = first; i < first + Per && i < n; ++i)
    out[i] = Negate ? -in[i] : in[i] + Per;
}
template <int Block = 64, class T> __global__ void mark(T* x) {
  if (threadIdx.x < Block)
    x[threadIdx.x] = Block;
}

int main() {
  const int n = 256;
  int* in = to_device(std::vector<int>(n, 10));
  int* out = to_device(std::vector<int>(n, 0));
  widen<<<1, 64>>>(in, out, n);
  const bool defaults = to_host(out, n)[255] == 14;
  widen<int, 2><<<2, 64>>>(in, out, n);
  const bool some = to_host(out, n)[255] == 12;
  widen<int, 1, true><<<4, 64>>>(in, out, n);
  const bool all = to_host(out, n)[255] == -10;
  mark<<<1, 128>>>(out);
  mark<32><<<1, 32>>>(in);
  return verdict(defaults && some && all && to_host(out, n)[63] == 64 && to_host(in, n)[31] == 32);
}

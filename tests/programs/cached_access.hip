// Loads and stores that say how to cache.
#include "check.h"

__global__ void copy(const float4* in, float4* out, const int* a, int* b) {
  const int i = threadIdx.x;
  __stcs(out + i, __ldcs(in + i));
  __stcg(b + i, __ldcg(a + i) + __ldca(a + i) + __ldg(a + i));
  __stwb(b + i, __ldcv(b + i) + 1);
  __builtin_nontemporal_store(__builtin_nontemporal_load(b + i) * 2, b + i);
}

int main() {
  float4 *in = to_device(std::vector<float4>(32, float4{1, 2, 3, 4})),
         *out = to_device(std::vector<float4>(32));
  int *a = to_device(std::vector<int>(32, 5)), *b = to_device(std::vector<int>(32, 0));
  copy<<<1, 32>>>(in, out, a, b);
  return verdict(to_host(out, 32)[31].w == 4 && to_host(b, 32)[31] == 32);
}

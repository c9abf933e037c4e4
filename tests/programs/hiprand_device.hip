// Generators of threads: a state each, kept from launch to launch; skipping ahead.
#include "check.h"
#include <hiprand/hiprand_kernel.h>

__global__ void setup(hiprandState* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  hiprand_init(seed, i, 0, &states[i]);
}
__global__ void draw(hiprandState* states, int* inside, int draws) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  hiprandState local = states[i];
  for (int k = 0; k < draws; ++k) {
    const float x = hiprand_uniform(&local), y = hiprand_uniform(&local);
    inside[i] += x * x + y * y <= 1;
  }
  states[i] = local;
}
__global__ void skip(int* same) {
  hiprandState a, b;
  hiprand_init(5, 1, 0, &a);
  hiprand_init(5, 1, 11, &b);
  for (int k = 0; k < 11; ++k)
    hiprand(&a);
  *same = hiprand(&a) == hiprand(&b);
  skipahead(6, &a);
  for (int k = 0; k < 6; ++k)
    hiprand(&b);
  *same += hiprand(&a) == hiprand(&b);
  *same += isfinite(hiprand_normal(&a)) && hiprand_uniform_double(&a) < 1;
}

int main() {
  const int threads = 256, draws = 100;
  hiprandState* states = nullptr;
  HIP_CHECK(hipMalloc(&states, threads * sizeof(hiprandState)));
  int *inside = to_device(std::vector<int>(threads, 0)), *same = to_device(std::vector<int>(1, 0));
  setup<<<2, 128>>>(states, 42);
  draw<<<2, 128>>>(states, inside, draws / 2);
  draw<<<2, 128>>>(states, inside, draws / 2);
  skip<<<1, 1>>>(same);
  double sum = 0;
  for (int v : to_host(inside, threads))
    sum += v;
  return verdict(fabs(4 * sum / (threads * draws) - 3.14159) < 0.05 && to_host(same, 1)[0] == 3);
}

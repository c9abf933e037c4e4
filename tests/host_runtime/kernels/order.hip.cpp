// Small kernels on streams that a test chooses: whether they are ordered is what it looks at.
#include <hip/hip_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void produce(int* x, int value) {
  x[threadIdx.x] = value; // races: produce
}
__global__ void consume(int* to, const int* x) {
  to[threadIdx.x] = x[threadIdx.x]; // races: consume
}

EXPORT void launch_produce(int* x, int value, hipStream_t stream) {
  hipLaunchKernelGGL(produce, 1, 4, 0, stream, x, value);
}
EXPORT void launch_consume(int* to, const int* x, hipStream_t stream) {
  hipLaunchKernelGGL(consume, 1, 4, 0, stream, to, x);
}

// Writes `distance` bytes away from its buffer.
__global__ void write_away(char* x, long distance) {
  x[distance] = 1;
}
EXPORT void launch_write_away(char* x, long distance) {
  hipLaunchKernelGGL(write_away, 1, 1, 0, nullptr, x, distance);
}

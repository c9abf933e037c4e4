// Two streams ordered by an event, and managed memory that both sides use.
#include "check.h"

__global__ void produce(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = 3 * i;
}
__global__ void consume(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[n - 1 - i] + 1;
}

int main() {
  const int n = 300;
  int *x = nullptr, *y = nullptr;
  HIP_CHECK(hipMalloc(&x, n * sizeof(int)));
  HIP_CHECK(hipMallocManaged(&y, n * sizeof(int)));
  hipStream_t first, second;
  hipEvent_t done;
  HIP_CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  HIP_CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
  produce<<<3, 128, 0, first>>>(x, n);
  HIP_CHECK(hipEventRecord(done, first));
  HIP_CHECK(hipStreamWaitEvent(second, done, 0));
  consume<<<3, 128, 0, second>>>(x, y, n);
  HIP_CHECK(hipMemPrefetchAsync(y, n * sizeof(int), hipCpuDeviceId, second));
  HIP_CHECK(hipStreamSynchronize(second));
  const bool right = y[0] == 3 * (n - 1) + 1 && y[n - 1] == 1;
  HIP_CHECK(hipStreamDestroy(first));
  HIP_CHECK(hipStreamDestroy(second));
  return verdict(right);
}

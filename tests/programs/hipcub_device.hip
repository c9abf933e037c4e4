// Reductions, scans, selections and histograms of the device, in two calls each.
#include "check.h"
#include <hipcub/hipcub.hpp>

template <class Call> void twice(Call call) {
  void* memory = nullptr;
  size_t bytes = 0;
  HIP_CHECK(call(memory, bytes));
  HIP_CHECK(hipMalloc(&memory, bytes));
  HIP_CHECK(call(memory, bytes));
  HIP_CHECK(hipFree(memory));
}
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2; }
};

int main() {
  const int n = 100;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i)
    h[i] = (i * 37) % n;
  int *in = to_device(h), *out = to_device(std::vector<int>(n, 0)), *one = to_device(std::vector<int>(1, 0));
  using hipcub::DeviceReduce;
  using hipcub::DeviceScan;
  using hipcub::DeviceSelect;
  twice([&](void* m, size_t& b) { return DeviceReduce::Sum(m, b, in, one, n); });
  bool right = to_host(one, 1)[0] == 4950;
  twice([&](void* m, size_t& b) { return DeviceReduce::Max(m, b, in, one, n, 0); });
  right = right && to_host(one, 1)[0] == 99;
  twice([&](void* m, size_t& b) { return DeviceReduce::Reduce(m, b, in, one, n, hipcub::Min(), 1000); });
  right = right && to_host(one, 1)[0] == 0;
  twice([&](void* m, size_t& b) { return DeviceScan::InclusiveSum(m, b, in, out, n); });
  right = right && to_host(out, n)[99] == 4950;
  twice([&](void* m, size_t& b) { return DeviceScan::ExclusiveSum(m, b, in, out, n); });
  right = right && to_host(out, n)[0] == 0 && to_host(out, n)[2] == 37;
  twice([&](void* m, size_t& b) { return DeviceSelect::If(m, b, in, out, one, n, IsOdd()); });
  right = right && to_host(one, 1)[0] == 50 && to_host(out, n)[0] == 37;
  twice([&](void* m, size_t& b) {
    return hipcub::DeviceHistogram::HistogramEven(m, b, in, out, 5, 0, 100, n);
  });
  return verdict(right && to_host(out, 4) == std::vector<int>(4, 25));
}

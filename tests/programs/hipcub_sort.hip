// Radix sort of keys and pairs, upwards and downwards, by some bits, into another buffer and in two.
#include "check.h"
#include <hipcub/hipcub.hpp>

int main() {
  const int n = 6;
  float* keys = to_device(std::vector<float>{2, -1, 0.5f, -3, 9, 0});
  int* values = to_device(std::vector<int>{0, 1, 2, 3, 4, 5});
  float* keysOut = to_device(std::vector<float>(n));
  int* valuesOut = to_device(std::vector<int>(n));
  size_t bytes = 0;
  void* memory = nullptr;
  HIP_CHECK(hipcub::DeviceRadixSort::SortPairs(memory, bytes, keys, keysOut, values, valuesOut, n));
  HIP_CHECK(hipMalloc(&memory, bytes));
  HIP_CHECK(hipcub::DeviceRadixSort::SortPairs(memory, bytes, keys, keysOut, values, valuesOut, n));
  bool right = to_host(valuesOut, n) == std::vector<int>{3, 1, 5, 2, 0, 4} && to_host(keysOut, n)[0] == -3;
  HIP_CHECK(hipcub::DeviceRadixSort::SortKeysDescending(memory, bytes, keys, keysOut, n));
  right = right && to_host(keysOut, n)[0] == 9 && to_host(keysOut, n)[5] == -3;
  hipcub::DoubleBuffer<int> buffer(values, valuesOut);
  HIP_CHECK(hipcub::DeviceRadixSort::SortKeys(memory, bytes, buffer, n, 0, 1)); // by the lowest bit
  return verdict(right && to_host(buffer.Current(), n) == std::vector<int>{0, 2, 4, 1, 3, 5});
}

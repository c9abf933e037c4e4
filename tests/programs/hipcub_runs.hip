// Runs, sums by key, segments, unique values and the place of the largest.
#include "check.h"
#include <hipcub/hipcub.hpp>

int main() {
  const int n = 8;
  int* in = to_device(std::vector<int>{5, 5, 5, 2, 2, 9, 9, 1});
  int *unique = to_device(std::vector<int>(n, 0)), *lengths = to_device(std::vector<int>(n, 0)),
      *runs = to_device(std::vector<int>(1, 0));
  int* offsets = to_device(std::vector<int>{0, 3, 8});
  auto* best = to_device(std::vector<hipcub::KeyValuePair<int, int>>(1));
  char* memory = to_device(std::vector<char>(1));
  size_t bytes = 1;
  HIP_CHECK(hipcub::DeviceRunLengthEncode::Encode(memory, bytes, in, unique, lengths, runs, n));
  bool right = to_host(runs, 1)[0] == 4 && to_host(lengths, 4) == std::vector<int>{3, 2, 2, 1};
  HIP_CHECK(
      hipcub::DeviceReduce::ReduceByKey(memory, bytes, in, unique, in, lengths, runs, hipcub::Sum(), n));
  right = right && to_host(lengths, 4) == std::vector<int>{15, 4, 18, 1};
  HIP_CHECK(hipcub::DeviceSegmentedReduce::Sum(memory, bytes, in, lengths, 2, offsets, offsets + 1));
  right = right && to_host(lengths, 2) == std::vector<int>{15, 23};
  HIP_CHECK(hipcub::DeviceSelect::Unique(memory, bytes, in, unique, runs, n));
  right = right && to_host(unique, 4) == std::vector<int>{5, 2, 9, 1};
  HIP_CHECK(hipcub::DeviceReduce::ArgMax(memory, bytes, in, best, n));
  return verdict(right && to_host(best, 1)[0].key == 5 && to_host(best, 1)[0].value == 9);
}

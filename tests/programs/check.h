// What each program here checks itself with.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(call)                                                                                      \
  do {                                                                                                       \
    const hipError_t status = (call);                                                                        \
    if (status != hipSuccess) {                                                                              \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(status));                             \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (0)

template <class T> T* to_device(const std::vector<T>& from) {
  void* memory = nullptr;
  HIP_CHECK(hipMalloc(&memory, from.size() * sizeof(T)));
  HIP_CHECK(hipMemcpy(memory, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice));
  return static_cast<T*>(memory);
}

template <class T> std::vector<T> to_host(const T* from, size_t count) {
  std::vector<T> to(count);
  HIP_CHECK(hipMemcpy(to.data(), from, count * sizeof(T), hipMemcpyDeviceToHost));
  return to;
}

// The program's last word; 0 if all is right.
inline int verdict(bool isRight) {
  std::puts(isRight ? "PASS" : "FAIL");
  return isRight ? 0 : 1;
}

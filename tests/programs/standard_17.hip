// A program in C++17: words that C++20 has taken are names, and u8 literals are chars.
#include "check.h"
#include <string>

static_assert(__cplusplus == 201703L, "hipcc's standard is C++17");
struct Named {
  Named() = delete; // an aggregate before C++20
  int value;
};
struct Even {
  bool operator==(const Even&) { return true; } // not const: ambiguous in C++20
};
template <class T> __global__ void fill(T* x, T v) {
  if constexpr (sizeof(T) == 4)
    x[threadIdx.x] = v;
}

int main() {
  const char* text = u8"plain";
  int char8_t = 3, co_await = 4;
  Named named{5};
  Even a, b;
  int* x = to_device(std::vector<int>(8, 0));
  fill<<<1, 8>>>(x, char8_t + co_await +named.value);
  return verdict(to_host(x, 8)[7] == 12 && std::string(text) == "plain" && a == b);
}

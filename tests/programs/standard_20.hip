// A program that the test builds with -std=c++20: concepts and templates of lambdas.
#include "check.h"
#include <concepts>
#include <numbers>

template <std::floating_point T> __global__ void circle(T* x) {
  x[threadIdx.x] *= std::numbers::pi_v<T>;
}

int main() {
  auto run = []<class T>(T value) {
    T* x = to_device(std::vector<T>(4, value));
    circle<<<1, 4>>>(x);
    return to_host(x, 4)[3];
  };
  return verdict(run(2.0) == 2 * std::numbers::pi && run(1.0f) == std::numbers::pi_v<float>);
}

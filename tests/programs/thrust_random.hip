// Random numbers of thrust in a transform: an estimate of pi.
#include "check.h"
#include <thrust/iterator/counting_iterator.h>
#include <thrust/random.h>
#include <thrust/transform_reduce.h>

struct Inside {
  __host__ __device__ float operator()(unsigned thread) const {
    thrust::default_random_engine engine(thread * 7919 + 1);
    engine.discard(thread % 7);
    thrust::uniform_real_distribution<float> uniform(0, 1);
    int inside = 0;
    for (int i = 0; i < 200; ++i) {
      const float x = uniform(engine), y = uniform(engine);
      inside += x * x + y * y < 1;
    }
    return 4.0f * inside / 200;
  }
};

int main() {
  const float sum = thrust::transform_reduce(thrust::counting_iterator<unsigned>(0),
                                             thrust::counting_iterator<unsigned>(500), Inside(), 0.0f,
                                             thrust::plus<float>());
  return verdict(fabsf(sum / 500 - 3.14159f) < 0.05f);
}

// Generators of the host: ranges, means, and the same numbers from the same seed.
#include "check.h"
#include <hiprand/hiprand.h>

int main() {
  const size_t n = 20000;
  float* x = to_device(std::vector<float>(n, -1));
  hiprandGenerator_t generator;
  bool right = hiprandCreateGenerator(&generator, HIPRAND_RNG_PSEUDO_DEFAULT) == HIPRAND_STATUS_SUCCESS;
  hiprandSetPseudoRandomGeneratorSeed(generator, 1234ull);
  right = right && hiprandGenerateUniform(generator, x, n) == HIPRAND_STATUS_SUCCESS;
  const auto first = to_host(x, n);
  double mean = 0;
  for (float v : first)
    mean += v / n, right = right && v > 0 && v <= 1;
  right = right && fabs(mean - 0.5) < 0.01;
  hiprandSetPseudoRandomGeneratorSeed(generator, 1234ull);
  hiprandGenerateUniform(generator, x, n);
  right = right && to_host(x, n) == first;
  hiprandGenerateNormal(generator, x, n, 3.0f, 2.0f);
  double sum = 0, squares = 0;
  for (float v : to_host(x, n))
    sum += v / n, squares += (v - 3.0) * (v - 3.0) / n;
  hiprandDestroyGenerator(generator);
  return verdict(right && fabs(sum - 3) < 0.06 && fabs(squares - 4) < 0.2);
}

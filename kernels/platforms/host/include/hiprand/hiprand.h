// hipRAND's generators of the host: buffers are filled after the work on their stream, number after number.
#pragma once

#include <hiprand/hiprand_kernel.h>

enum hiprandStatus_t {
  HIPRAND_STATUS_SUCCESS = 0,
  HIPRAND_STATUS_NOT_INITIALIZED = 101,
  HIPRAND_STATUS_ALLOCATION_FAILED = 102,
  HIPRAND_STATUS_TYPE_ERROR = 103,
  HIPRAND_STATUS_OUT_OF_RANGE = 104,
  HIPRAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  HIPRAND_STATUS_LAUNCH_FAILURE = 201,
  HIPRAND_STATUS_INTERNAL_ERROR = 999
};
enum hiprandRngType_t {
  HIPRAND_RNG_PSEUDO_DEFAULT = 400,
  HIPRAND_RNG_PSEUDO_XORWOW = 401,
  HIPRAND_RNG_PSEUDO_MRG32K3A = 402,
  HIPRAND_RNG_PSEUDO_MTGP32 = 403,
  HIPRAND_RNG_PSEUDO_MT19937 = 404,
  HIPRAND_RNG_PSEUDO_PHILOX4_32_10 = 405,
  HIPRAND_RNG_QUASI_DEFAULT = 500,
  HIPRAND_RNG_QUASI_SOBOL32 = 501
};
enum hiprandOrdering_t { HIPRAND_ORDERING_PSEUDO_BEST = 100, HIPRAND_ORDERING_PSEUDO_DEFAULT = 101 };
struct hiprandGenerator_st {
  hiprandState_t state;
  hipStream_t stream;
  bool isForHost;
  unsigned long long seed;
};
typedef hiprandGenerator_st* hiprandGenerator_t;

inline hiprandStatus_t hiprandCreateGenerator(hiprandGenerator_t* generator, hiprandRngType_t) {
  *generator = new hiprandGenerator_st{};
  hiprand_init(0, 0, 0, &(*generator)->state);
  return HIPRAND_STATUS_SUCCESS;
}
inline hiprandStatus_t hiprandCreateGeneratorHost(hiprandGenerator_t* generator, hiprandRngType_t type) {
  const hiprandStatus_t status = hiprandCreateGenerator(generator, type);
  (*generator)->isForHost = true;
  return status;
}
inline hiprandStatus_t hiprandDestroyGenerator(hiprandGenerator_t generator) {
  delete generator;
  return HIPRAND_STATUS_SUCCESS;
}
inline hiprandStatus_t hiprandSetStream(hiprandGenerator_t generator, hipStream_t stream) {
  generator->stream = stream;
  return HIPRAND_STATUS_SUCCESS;
}
inline hiprandStatus_t hiprandSetPseudoRandomGeneratorSeed(hiprandGenerator_t generator,
                                                           unsigned long long seed) {
  generator->seed = seed;
  hiprand_init(seed, 0, 0, &generator->state);
  return HIPRAND_STATUS_SUCCESS;
}
inline hiprandStatus_t hiprandSetGeneratorOffset(hiprandGenerator_t generator, unsigned long long offset) {
  hiprand_init(generator->seed, 0, offset, &generator->state);
  return HIPRAND_STATUS_SUCCESS;
}
inline hiprandStatus_t hiprandSetGeneratorOrdering(hiprandGenerator_t, hiprandOrdering_t) {
  return HIPRAND_STATUS_SUCCESS;
}
namespace bitgate_host {
template <class T, class Next>
hiprandStatus_t generate(hiprandGenerator_t generator, T* to, size_t count, Next next) {
  if (!generator)
    return HIPRAND_STATUS_NOT_INITIALIZED;
  if (!generator->isForHost && hipStreamSynchronize(generator->stream) != hipSuccess)
    return HIPRAND_STATUS_LAUNCH_FAILURE;
  for (size_t at = 0; at < count; ++at)
    to[at] = static_cast<T>(next(&generator->state));
  return HIPRAND_STATUS_SUCCESS;
}
} // namespace bitgate_host
inline hiprandStatus_t hiprandGenerate(hiprandGenerator_t generator, unsigned* to, size_t count) {
  return bitgate_host::generate(generator, to, count, hiprand);
}
inline hiprandStatus_t hiprandGenerateUniform(hiprandGenerator_t generator, float* to, size_t count) {
  return bitgate_host::generate(generator, to, count, hiprand_uniform);
}
inline hiprandStatus_t hiprandGenerateUniformDouble(hiprandGenerator_t generator, double* to, size_t count) {
  return bitgate_host::generate(generator, to, count, hiprand_uniform_double);
}
template <class T, class Next>
hiprandStatus_t bitgate_hiprand_normal(hiprandGenerator_t generator, T* to, size_t count, T mean, T deviation,
                                       Next next) {
  return bitgate_host::generate(generator, to, count,
                                [=](hiprandState_t* state) { return mean + deviation * next(state); });
}
inline hiprandStatus_t hiprandGenerateNormal(hiprandGenerator_t generator, float* to, size_t count,
                                             float mean, float deviation) {
  return bitgate_hiprand_normal(generator, to, count, mean, deviation, hiprand_normal);
}
inline hiprandStatus_t hiprandGenerateNormalDouble(hiprandGenerator_t generator, double* to, size_t count,
                                                   double mean, double deviation) {
  return bitgate_hiprand_normal(generator, to, count, mean, deviation, hiprand_normal_double);
}
inline hiprandStatus_t hiprandGenerateLogNormal(hiprandGenerator_t generator, float* to, size_t count,
                                                float mean, float deviation) {
  return bitgate_host::generate(generator, to, count, [=](hiprandState_t* state) {
    return hiprand_log_normal(state, mean, deviation);
  });
}
inline hiprandStatus_t hiprandGeneratePoisson(hiprandGenerator_t generator, unsigned* to, size_t count,
                                              double lambda) {
  return bitgate_host::generate(generator, to, count,
                                [=](hiprandState_t* state) { return hiprand_poisson(state, lambda); });
}

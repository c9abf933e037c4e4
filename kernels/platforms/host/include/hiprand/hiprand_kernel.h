// hipRAND's functions of a thread. Every generator is Philox 4x32-10, keyed by the seed: numbers are those of
// HIPRAND_RNG_PSEUDO_PHILOX4_32_10's kind, and others than the libraries' of a GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include <hip/hip_runtime.h>

struct hiprandStatePhilox4_32_10_t {
  uint32_t counter[4], key[2];
  uint32_t of[4]; // the numbers of this counter
  unsigned used;  // of them
  float spare;    // a second normal number
  bool hasSpare;
};
using hiprandState_t = hiprandStatePhilox4_32_10_t;
using hiprandState = hiprandState_t;
using hiprandStateXORWOW_t = hiprandState_t;
using hiprandStateXORWOW = hiprandState_t;
using hiprandStateMRG32k3a_t = hiprandState_t;
using hiprandStateMRG32k3a = hiprandState_t;
using hiprandStatePhilox4_32_10 = hiprandState_t;

namespace bitgate_host {
inline void philox(hiprandState_t& state) {
  uint32_t c[4], key[2] = {state.key[0], state.key[1]};
  for (int i = 0; i < 4; ++i)
    c[i] = state.counter[i];
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c[0], b = uint64_t{0xCD9E8D57u} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
                              static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    for (int i = 0; i < 4; ++i)
      c[i] = next[i];
    key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
  }
  for (int i = 0; i < 4; ++i)
    state.of[i] = c[i];
  if (++state.counter[0] == 0)
    ++state.counter[1];
}
} // namespace bitgate_host

inline void skipahead(unsigned long long by, hiprandState_t* state) {
  const unsigned long long at =
      (static_cast<unsigned long long>(state->counter[1]) << 32 | state->counter[0]) * 4 + state->used % 4 +
      by;
  // The counter is ahead of the numbers that are held.
  const unsigned long long block = at / 4 - (state->used < 4 ? 1 : 0);
  state->counter[0] = static_cast<uint32_t>(block), state->counter[1] = static_cast<uint32_t>(block >> 32);
  bitgate_host::philox(*state);
  state->used = static_cast<unsigned>(at % 4);
  state->hasSpare = false;
}
inline void hiprand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                         hiprandState_t* state) {
  *state = {};
  state->key[0] = static_cast<uint32_t>(seed), state->key[1] = static_cast<uint32_t>(seed >> 32);
  state->counter[2] = static_cast<uint32_t>(sequence),
  state->counter[3] = static_cast<uint32_t>(sequence >> 32);
  state->used = 4;
  if (offset)
    skipahead(offset, state);
}
inline unsigned hiprand(hiprandState_t* state) {
  if (state->used >= 4)
    bitgate_host::philox(*state), state->used = 0;
  return state->of[state->used++];
}
inline uint4 hiprand4(hiprandState_t* state) {
  return {hiprand(state), hiprand(state), hiprand(state), hiprand(state)};
}
// Above 0, and 1 at most.
inline float hiprand_uniform(hiprandState_t* state) {
  return static_cast<float>(hiprand(state) >> 8) * 0x1p-24f + 0x1p-25f;
}
inline double hiprand_uniform_double(hiprandState_t* state) {
  const uint64_t high = hiprand(state);
  return static_cast<double>((high << 21) ^ hiprand(state) >> 11) * 0x1p-53 + 0x1p-54;
}
inline float4 hiprand_uniform4(hiprandState_t* state) {
  return {hiprand_uniform(state), hiprand_uniform(state), hiprand_uniform(state), hiprand_uniform(state)};
}
inline float2 hiprand_normal2(hiprandState_t* state) {
  const float radius = std::sqrt(-2 * std::log(hiprand_uniform(state)));
  const float angle = 6.2831853071795865f * hiprand_uniform(state);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}
inline float hiprand_normal(hiprandState_t* state) {
  if (state->hasSpare) {
    state->hasSpare = false;
    return state->spare;
  }
  const float2 both = hiprand_normal2(state);
  state->spare = both.y, state->hasSpare = true;
  return both.x;
}
inline double hiprand_normal_double(hiprandState_t* state) {
  const double radius = std::sqrt(-2 * std::log(hiprand_uniform_double(state)));
  return radius * std::cos(6.283185307179586477 * hiprand_uniform_double(state));
}
inline float4 hiprand_normal4(hiprandState_t* state) {
  const float2 a = hiprand_normal2(state), b = hiprand_normal2(state);
  return {a.x, a.y, b.x, b.y};
}
inline float hiprand_log_normal(hiprandState_t* state, float mean, float deviation) {
  return std::exp(mean + deviation * hiprand_normal(state));
}
inline unsigned hiprand_poisson(hiprandState_t* state, double lambda) {
  const double limit = std::exp(-lambda);
  unsigned count = 0;
  for (double product = hiprand_uniform_double(state); product > limit;
       product *= hiprand_uniform_double(state))
    ++count;
  return count;
}

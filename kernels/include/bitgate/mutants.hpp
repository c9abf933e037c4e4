// The switch of a library of mutants (docs/faults.md). Schemata of its sources begin with this file, and with
// BITGATE_MUTANTS, how many there are. BITGATE_MUTANT(n) is true while mutant n is on.
//
// A GPU's code has variables of its own in each translation unit, which the host sets and reads by copies. On
// the host platform all code is a device's.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP_PLATFORM_HOST__) || defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define BITGATE_MUTANTS_OF(name) device_##name
#else
#define BITGATE_MUTANTS_OF(name) host_##name
#endif

// Several threads may note the same place. CUDA has no such builtin; there a byte is stored whole.
#if defined(__CUDA_ARCH__)
#define BITGATE_MUTANTS_NOTE(byte) ((byte) = 1)
#else
#define BITGATE_MUTANTS_NOTE(byte) __atomic_store_n(&(byte), 1, __ATOMIC_RELAXED)
#endif

#if defined(__HIP_PLATFORM_HOST__)
#define BITGATE_MUTANTS_CALLED inline
#else
#define BITGATE_MUTANTS_CALLED __attribute__((noinline))
#endif

// Constants that are chosen at run time may be too wide for what they initialise.
#if defined(__CUDACC__)
#pragma nv_diag_suppress 2361
#elif defined(__clang__)
#pragma clang diagnostic ignored "-Wc++11-narrowing"
#endif

#define BITGATE_MUTANT(number) (bitgate_mutants::is_on(number))
#define BITGATE_MUTANT_AT(number, acts) ((acts) && BITGATE_MUTANT(number))

namespace bitgate_mutants {
// Values of the switch with no mutant on: watching notes which places are reached.
inline constexpr int off = 0, watching = -1;
inline constexpr int places = BITGATE_MUTANTS + 1; // mutants count from 1

static __constant__ int device_switch = off;
static __device__ unsigned char device_reached[places] = {};
__attribute__((visibility("hidden"))) inline int host_switch = off;
__attribute__((visibility("hidden"))) inline unsigned char host_reached[places] = {};

// A call, since compilers for GPUs unroll loops: code with a thousand copies of this takes them minutes.
static __host__ __device__ BITGATE_MUTANTS_CALLED bool is_now(int number) {
  const int now = BITGATE_MUTANTS_OF(switch);
  if (now == watching)
    BITGATE_MUTANTS_NOTE(BITGATE_MUTANTS_OF(reached)[number]);
  return now == number;
}

// What the compiler evaluates itself is as in the source.
static __host__ __device__ inline constexpr bool is_on(int number) {
  return !__builtin_is_constant_evaluated() && is_now(number);
}

// A translation unit: each registers itself when its library is loaded.
struct Unit;
__attribute__((visibility("hidden"))) inline const Unit* last_unit = nullptr;
struct Unit {
  using Turn = hipError_t (*)(int to);
  using Read = hipError_t (*)(unsigned char* reached);
  Unit(Turn turns, Read reads) : turn(turns), read(reads), before(last_unit) { last_unit = this; }
  Turn turn;
  Read read;
  const Unit* before;
};
static const Unit unit(
    [](int to) {
      const unsigned char none[places] = {};
      const hipError_t error =
          to == watching ? hipMemcpyToSymbol(HIP_SYMBOL(device_reached), none, sizeof none) : hipSuccess;
      return error == hipSuccess ? hipMemcpyToSymbol(HIP_SYMBOL(device_switch), &to, sizeof to) : error;
    },
    [](unsigned char* reached) {
      return hipMemcpyFromSymbol(reached, HIP_SYMBOL(device_reached), sizeof device_reached);
    });
} // namespace bitgate_mutants

#define BITGATE_MUTANTS_EXPORT __attribute__((visibility("default"), used)) inline

extern "C" {
BITGATE_MUTANTS_EXPORT int bitgate_mutants_count() {
  return BITGATE_MUTANTS;
}

// Turns the switch. Both return a hipError_t.
BITGATE_MUTANTS_EXPORT int bitgate_mutants_turn(int to) {
  using namespace bitgate_mutants;
  host_switch = to;
  for (int number = 0; to == watching && number < places; ++number)
    host_reached[number] = 0;
  hipError_t error = hipSuccess;
  for (const Unit* one = last_unit; one != nullptr && error == hipSuccess; one = one->before)
    error = one->turn(to);
  return error;
}

// A byte for each mutant, and the first for none: has its place been executed while the switch was watching?
BITGATE_MUTANTS_EXPORT int bitgate_mutants_reached(unsigned char* reached) {
  using namespace bitgate_mutants;
  for (int number = 0; number < places; ++number)
    reached[number] = host_reached[number];
  hipError_t error = hipSuccess;
  for (const Unit* one = last_unit; one != nullptr && error == hipSuccess; one = one->before) {
    unsigned char own[places];
    error = one->read(own);
    for (int number = 0; number < places; ++number)
      reached[number] |= error == hipSuccess && own[number];
  }
  return error;
}
}

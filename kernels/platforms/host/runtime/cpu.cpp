// x86-64-v3 is what kernels are compiled for. This is checked when the library is loaded, so that an older
// CPU gets one clear line and hipErrorNoDevice instead of SIGILL. Nothing else of the runtime runs at load,
// and each entry point asks cpuIsSupported() first.

#include <cpuid.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "error.hpp"

namespace bitgate_host {
namespace {

struct Feature {
  const char* name;
  unsigned leaf;
  int word; // 0 eax, 1 ebx, 2 ecx, 3 edx
  unsigned bit;
};

constexpr Feature required[] = {
    {"SSE4.2", 1, 2, 20}, {"POPCNT", 1, 2, 23}, {"MOVBE", 1, 2, 22},         {"AVX", 1, 2, 28},
    {"F16C", 1, 2, 29},   {"FMA", 1, 2, 12},    {"OSXSAVE", 1, 2, 27},       {"BMI1", 7, 1, 3},
    {"AVX2", 7, 1, 5},    {"BMI2", 7, 1, 8},    {"LZCNT", 0x80000001, 2, 5},
};

// Plain x86-64 whatever the rest is compiled for, or this check could not run.
__attribute__((target("arch=x86-64"))) bool check() {
  char missing[128] = "";
  for (const Feature& feature : required) {
    unsigned words[4] = {};
    __get_cpuid_count(feature.leaf, 0, &words[0], &words[1], &words[2], &words[3]);
    if (!(words[feature.word] >> feature.bit & 1)) {
      std::strncat(missing, " ", sizeof missing - std::strlen(missing) - 1);
      std::strncat(missing, feature.name, sizeof missing - std::strlen(missing) - 1);
    }
  }
  // For tests of this very path: what an older CPU would see.
  if (const char* pretend = std::getenv("BITGATE_HOST_PRETEND_CPU"); pretend && *pretend) {
    if (std::strcmp(pretend, "x86-64-v2") != 0) {
      std::fprintf(stderr, "bitgate: BITGATE_HOST_PRETEND_CPU: give x86-64-v2, or unset it\n");
      _exit(2);
    }
    std::strcpy(missing, " AVX AVX2 BMI1 BMI2 F16C FMA LZCNT MOVBE");
  }
  if (!*missing)
    return true;
  std::fprintf(
      stderr,
      "bitgate: this CPU lacks%s. Host kernels are compiled for x86-64-v3 (2013 and later): use a newer "
      "machine, or a GPU platform.\n",
      missing);
  return false;
}

const bool supported = check(); // at load, before any kernel library runs

} // namespace

bool cpuIsSupported() {
  return supported;
}

} // namespace bitgate_host

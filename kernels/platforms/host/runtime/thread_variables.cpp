#include "thread_variables.hpp"

#include "block.hpp"

namespace bitgate_host {

constinit thread_local ThreadRecord* self = nullptr;
constinit thread_local bool waveOpsCounted = false;
constinit thread_local bool workDone = false;

namespace thread_variables {
constinit thread_local PaddedIndex threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{0, 0, 0};
constinit thread_local dim3 gridDim{0, 0, 0};
constinit thread_local int warpSize = 0;
} // namespace thread_variables

} // namespace bitgate_host

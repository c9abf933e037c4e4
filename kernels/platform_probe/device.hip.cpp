// Probes of what kernels take for granted beside matrix fragments: waves, LDS and atomic operations. Each
// writes figures, as 32-bit words; harness/bitgate/runtime/probe/device.py says what they must be.
#include "bitgate/bits.hpp"
#include "bitgate/lds.hpp"
#include "probe_problem.hpp"

namespace platform_probe {

constexpr int block_size = 256;

// ---- wave: four words a thread: its lane, whose thread lane 0 of its wave is, and the votes of its wave

__global__ void __launch_bounds__(block_size) observe_wave(int32_t* figures) {
  const auto thread = static_cast<int32_t>(threadIdx.x);
  const auto votes = static_cast<uint64_t>(__ballot(1));
  const int32_t first = __shfl(thread, 0);
  int32_t* const own = figures + 4 * thread;
  own[0] = static_cast<int32_t>(__lane_id());
  own[1] = first;
  own[2] = static_cast<int32_t>(votes & 0xFFFFFFFFu);
  own[3] = static_cast<int32_t>(votes >> 32);
}

void run_wave(const ProbeRequest& request, const ProbeBuffers& buffers, bitgate::Context& context) {
  context.wave_size = static_cast<unsigned>(request.problem.wave);
  bitgate::launch(context, "observe_wave", observe_wave, dim3(1), dim3(block_size), 0,
                  static_cast<int32_t*>(buffers.figures));
  note_path(context.record, "wave");
}

// ---- lds: a block takes all that its target declares, and each thread reads what others wrote

constexpr int lds_bytes = BITGATE_LDS_BYTES;
constexpr int lds_words = lds_bytes / 4;

struct WholeLds {
  uint32_t words[lds_words];
};

__device__ inline uint32_t word_at(int index, unsigned block) {
  return (static_cast<uint32_t>(index) + 1u) * 2654435761u ^ block;
}

// figures: bytes of a block, words that were wrong, and how far before the end the first of them lies.
__global__ void __launch_bounds__(block_size) fill_lds(int32_t* figures) {
  BITGATE_LDS(WholeLds, lds);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < lds_words; i += block_size)
    lds.words[i] = word_at(i, blockIdx.x);
  __syncthreads();
  for (int i = block_size - 1 - thread; i < lds_words; i += block_size)
    if (lds.words[i] != word_at(i, blockIdx.x)) {
      atomicAdd(figures + 1, 1);
      atomicMax(figures + 2, lds_words - i);
    }
  if (thread == 0 && blockIdx.x == 0)
    figures[0] = lds_bytes;
}

void run_lds(const ProbeRequest&, const ProbeBuffers& buffers, bitgate::Context& context) {
  constexpr unsigned blocks = 4;
  bitgate::memset_async(context, "clear_figures", buffers.figures, 0, 3 * sizeof(int32_t));
  bitgate::launch(context, "fill_lds", fill_lds, dim3(blocks), dim3(block_size), 0,
                  static_cast<int32_t*>(buffers.figures));
  note_path(context.record, "lds");
}

// ---- atomics: many threads add small integers to one word: f32, f32 by compare-and-swap, i32

__device__ inline float float_of(uint32_t bits) {
  return bitgate::bits_as<float>(bits);
}

__global__ void __launch_bounds__(block_size)
    add_together(float* floats, uint32_t* swapped, int32_t* integers) {
  const auto term = static_cast<int32_t>(1 + (blockIdx.x * block_size + threadIdx.x) % 7);
  atomicAdd(floats, static_cast<float>(term));
  atomicAdd(integers, term);
  uint32_t found = *swapped, expected;
  do {
    expected = found;
    const float sum = float_of(expected) + static_cast<float>(term);
    found = atomicCAS(swapped, expected, bitgate::bits_as<uint32_t>(sum));
  } while (found != expected);
}

void run_atomics(const ProbeRequest& request, const ProbeBuffers& buffers, bitgate::Context& context) {
  auto* const words = static_cast<int32_t*>(buffers.figures);
  bitgate::memset_async(context, "clear_figures", words, 0, 3 * sizeof(int32_t));
  bitgate::launch(context, "add_together", add_together, dim3(static_cast<unsigned>(request.problem.blocks)),
                  dim3(block_size), 0, static_cast<float*>(buffers.figures),
                  reinterpret_cast<uint32_t*>(words + 1), words + 2);
  note_path(context.record, "atomics");
}

} // namespace platform_probe

namespace {
const platform_probe::ProbeRegistration atomics{
    platform_probe::instance("atomics", platform_probe::block_size, platform_probe::run_atomics)};
const platform_probe::ProbeRegistration lds{
    platform_probe::instance("lds", platform_probe::block_size, platform_probe::run_lds)};
const platform_probe::ProbeRegistration wave{
    platform_probe::instance("wave", platform_probe::block_size, platform_probe::run_wave)};
} // namespace

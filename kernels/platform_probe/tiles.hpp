// One matrix fragment, tried on tiles of the caller's: block by block
//
//   sums = sum over steps of repeats[step] * (A[step] x B[step])
//
// A is M x K, B is K x N, both row-major, as are the sums. One wave a block does nothing but what the
// fragment's interface offers, so a wrong sum is the fragment's. What the tiles hold, and what the sums must
// be, harness/bitgate/verify/platform knows.
#pragma once

#include "bitgate/fragment.hpp"
#include "bitgate/lds.hpp"
#include "probe.h"
#include "probe_problem.hpp"

namespace platform_probe {

template <class A_, class B_, int M_, int N_, int K_, int Wave_> struct Trial {
  using A = A_;
  using B = B_;
  using Fragment = bitgate::Fragment<A, B, M_, N_, K_, Wave_>;
  using Sum = typename Fragment::Sum;
  static constexpr int M = M_, N = N_, K = K_, wave = Wave_;

  // Rows lie 16 bytes further apart than they are long, as in the kernels: a pitch that is ignored shows.
  static constexpr int pitch_a = K + 16 / static_cast<int>(sizeof(A)),
                       pitch_b = N + 16 / static_cast<int>(sizeof(B));
  struct Lds {
    alignas(16) A a[M * pitch_a];
    alignas(16) B b[K * pitch_b];
  };
};

template <class Trial>
__global__ void __launch_bounds__(Trial::wave)
    sum_tiles(const typename Trial::A* a, const typename Trial::B* b, const int32_t* repeats, int32_t steps,
              typename Trial::Sum* sums) {
  using Fragment = typename Trial::Fragment;
  BITGATE_LDS(typename Trial::Lds, lds);
  const int thread = static_cast<int>(threadIdx.x);
  typename Fragment::Accumulator accumulator;
  Fragment::together([&] { Fragment::clear(accumulator); });
  for (int32_t step = 0; step < steps; ++step) {
    const int64_t tile = static_cast<int64_t>(blockIdx.x) * steps + step;
    for (int i = thread; i < Trial::M * Trial::K; i += Trial::wave)
      lds.a[i / Trial::K * Trial::pitch_a + i % Trial::K] = a[tile * Trial::M * Trial::K + i];
    for (int i = thread; i < Trial::K * Trial::N; i += Trial::wave)
      lds.b[i / Trial::N * Trial::pitch_b + i % Trial::N] = b[tile * Trial::K * Trial::N + i];
    __syncthreads();
    const int32_t count = repeats[tile];
    Fragment::together([&] {
      typename Fragment::OperandA operand_a;
      typename Fragment::OperandB operand_b;
      Fragment::load_a(lds.a, Trial::pitch_a, operand_a);
      Fragment::load_b(lds.b, Trial::pitch_b, operand_b);
      for (int32_t repeat = 0; repeat < count; ++repeat)
        Fragment::multiply(operand_a, operand_b, accumulator);
    });
    __syncthreads();
  }
  typename Trial::Sum* const block = sums + static_cast<int64_t>(blockIdx.x) * Trial::M * Trial::N;
  Fragment::together([&] {
    Fragment::for_each(accumulator, [&](int row, int column, typename Trial::Sum sum) {
      block[row * Trial::N + column] = sum;
    });
  });
}

// A trial as the library lists and runs it.
struct Entry {
  bitgate_fragment_info info;
  void (*run)(const ProbeBuffers& buffers, unsigned blocks, int32_t steps, bitgate::Context& context);
};

template <class Trial>
void run_trial(const ProbeBuffers& buffers, unsigned blocks, int32_t steps, bitgate::Context& context) {
  context.wave_size = Trial::wave;
  bitgate::launch(context, "sum_tiles", sum_tiles<Trial>, dim3(blocks), dim3(Trial::wave), 0,
                  static_cast<const typename Trial::A*>(buffers.a),
                  static_cast<const typename Trial::B*>(buffers.b), buffers.repeats, steps,
                  static_cast<typename Trial::Sum*>(buffers.figures));
}

template <class T> inline constexpr int32_t code_of = bitgate::Number<T>::dtype;
template <> inline constexpr int32_t code_of<int32_t> = BITGATE_I32;

template <class Trial> Entry entry() {
  return {{sizeof(bitgate_fragment_info), code_of<typename Trial::A>, code_of<typename Trial::B>,
           code_of<typename Trial::Sum>, Trial::M, Trial::N, Trial::K, Trial::wave,
           Trial::Fragment::exact_range},
          run_trial<Trial>};
}

} // namespace platform_probe

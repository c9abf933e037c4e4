// One matrix fragment, tried on tiles of the caller's: block by block
//
//   sums = sum over steps of repeats[step] * (A[step] x B[step])
//
// A is M x K, B is K x N, both row-major, as are the sums. One wave a block does nothing but what the
// fragment's interface offers, so a wrong sum is the fragment's. Of f16 and bf16 every other step lies turned
// in LDS. What the tiles hold, and what the sums must be, harness/bitgate/verify/platform knows.
#pragma once

#include "bitgate/fragment.hpp"
#include "bitgate/lds.hpp"
#include "probe.h"
#include "probe_problem.hpp"

namespace platform_probe {

template <class A_, class B_, int M_, int N_, int K_, int Wave_> struct FragmentTest {
  using A = A_;
  using B = B_;
  using Fragment = bitgate::Fragment<A, B, M_, N_, K_, Wave_>;
  using Sum = typename Fragment::Sum;
  static constexpr int M = M_, N = N_, K = K_, wave = Wave_;

  // Rows lie 16 bytes further apart than they are long, as in the kernels: a pitch that is ignored shows.
  static constexpr int pitch_a = K + 16 / static_cast<int>(sizeof(A)),
                       pitch_b = N + 16 / static_cast<int>(sizeof(B));
  static constexpr bool turns = std::is_same_v<A, bitgate::f16> || std::is_same_v<A, bitgate::bf16>;
  static constexpr int turned_pitch_a = M + 16 / static_cast<int>(sizeof(A)),
                       turned_pitch_b = K + 16 / static_cast<int>(sizeof(B));
  struct Lds {
    alignas(16) A a[M * pitch_a > K* turned_pitch_a ? M* pitch_a : K* turned_pitch_a];
    alignas(16) B b[K * pitch_b > N* turned_pitch_b ? K* pitch_b : N* turned_pitch_b];
  };
};

// Operands of a step as it lies.
template <class FragmentTest>
__device__ __forceinline__ void load_operands(const typename FragmentTest::Lds& lds, bool turned,
                                              typename FragmentTest::Fragment::OperandA& a,
                                              typename FragmentTest::Fragment::OperandB& b) {
  using Fragment = typename FragmentTest::Fragment;
  if constexpr (FragmentTest::turns)
    if (turned) {
      Fragment::load_a_turned(lds.a, FragmentTest::turned_pitch_a, a);
      return Fragment::load_b_turned(lds.b, FragmentTest::turned_pitch_b, b);
    }
  Fragment::load_a(lds.a, FragmentTest::pitch_a, a);
  Fragment::load_b(lds.b, FragmentTest::pitch_b, b);
}

template <class FragmentTest>
__global__ void __launch_bounds__(FragmentTest::wave)
    sum_tiles(const typename FragmentTest::A* a, const typename FragmentTest::B* b, const int32_t* repeats,
              int32_t steps, typename FragmentTest::Sum* sums) {
  using Fragment = typename FragmentTest::Fragment;
  BITGATE_LDS(typename FragmentTest::Lds, lds);
  const int thread = static_cast<int>(threadIdx.x);
  typename Fragment::Accumulator accumulator;
  Fragment::together([&] { Fragment::clear(accumulator); });
  for (int32_t step = 0; step < steps; ++step) {
    const int64_t tile = static_cast<int64_t>(blockIdx.x) * steps + step;
    const bool turned = FragmentTest::turns && tile % 2 != 0;
    for (int i = thread; i < FragmentTest::M * FragmentTest::K; i += FragmentTest::wave) {
      const int m = i / FragmentTest::K, k = i % FragmentTest::K;
      lds.a[turned ? k * FragmentTest::turned_pitch_a + m : m * FragmentTest::pitch_a + k] =
          a[tile * FragmentTest::M * FragmentTest::K + i];
    }
    for (int i = thread; i < FragmentTest::K * FragmentTest::N; i += FragmentTest::wave) {
      const int k = i / FragmentTest::N, n = i % FragmentTest::N;
      lds.b[turned ? n * FragmentTest::turned_pitch_b + k : k * FragmentTest::pitch_b + n] =
          b[tile * FragmentTest::K * FragmentTest::N + i];
    }
    __syncthreads();
    const int32_t count = repeats[tile];
    Fragment::together([&] {
      typename Fragment::OperandA operand_a;
      typename Fragment::OperandB operand_b;
      load_operands<FragmentTest>(lds, turned, operand_a, operand_b);
      for (int32_t repeat = 0; repeat < count; ++repeat)
        Fragment::multiply(operand_a, operand_b, accumulator);
    });
    __syncthreads();
  }
  typename FragmentTest::Sum* const block =
      sums + static_cast<int64_t>(blockIdx.x) * FragmentTest::M * FragmentTest::N;
  Fragment::together([&] {
    Fragment::for_each(accumulator, [&](int row, int column, typename FragmentTest::Sum sum) {
      block[row * FragmentTest::N + column] = sum;
    });
  });
}

// A test as the library lists and runs it.
struct Entry {
  bitgate_fragment_info info;
  void (*run)(const ProbeBuffers& buffers, unsigned blocks, int32_t steps, bitgate::Context& context);
};

template <class FragmentTest>
void run_test(const ProbeBuffers& buffers, unsigned blocks, int32_t steps, bitgate::Context& context) {
  context.wave_size = FragmentTest::wave;
  bitgate::launch(context, "sum_tiles", sum_tiles<FragmentTest>, dim3(blocks), dim3(FragmentTest::wave), 0,
                  static_cast<const typename FragmentTest::A*>(buffers.a),
                  static_cast<const typename FragmentTest::B*>(buffers.b), buffers.repeats, steps,
                  static_cast<typename FragmentTest::Sum*>(buffers.figures));
}

template <class FragmentTest> Entry entry() {
  using bitgate::code_of;
  return {{sizeof(bitgate_fragment_info), code_of<typename FragmentTest::A>,
           code_of<typename FragmentTest::B>, code_of<typename FragmentTest::Sum>, FragmentTest::M,
           FragmentTest::N, FragmentTest::K, FragmentTest::wave, FragmentTest::Fragment::exact_range},
          run_test<FragmentTest>};
}

} // namespace platform_probe

// Backward weight, wave-specialised (wavelet): some waves of a workgroup only load, the others only multiply.
//
//   load waves   addresses, global loads, LDS writes of the next step
//   math waves   LDS reads and matrix operations of this one, then the epilogue
//
// LDS holds two steps. One barrier a step hands a step over: behind barrier i the math waves read step i
// while the load waves write step i + 1 into the place of step i - 1, which the math waves are done with.
// Both arms come to every barrier, those of the epilogue too: a workgroup whose arms disagree hangs or races.
//
// The instance's block of threads is the math waves' (compute, epilogue); the workgroup is larger by the load
// waves.
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"

namespace bwd_weight_wavelet {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

// `LoadThreads` come before the math threads in the workgroup.
template <class Variant_, int LoadThreads_> struct Wavelet : Variant_ {
  using Operands = typename Variant_::Operands;
  using Sum = typename Variant_::Sum;
  static constexpr int load_threads = LoadThreads_;
  static constexpr int math_threads = Variant_::block;
  static constexpr int threads = load_threads + math_threads;

  // Rows of sums that LDS takes at once, in as many bytes on every target, so that an instance is the same on
  // all; the rest follow in further rounds, whole rows of waves each.
  static constexpr int most_bytes = 65536;
  static constexpr int whole = Variant_::Tile::M * Variant_::pitch_c * static_cast<int>(sizeof(Sum));
  static constexpr int rounds = whole > most_bytes ? 2 : 1;
  static constexpr int rows = Variant_::Tile::M / rounds;
  static_assert(rows % Variant_::wave_m == 0);

  // The epilogue reuses the operands' place for the sums.
  union Lds {
    Operands operands[2];
    alignas(16) Sum c[rows * Variant_::pitch_c];
  };
  static_assert(sizeof(Lds) <= BITGATE_LDS_BYTES, "LDS of one block");
};

// The load waves' way through `count` steps.
template <class W>
__device__ __forceinline__ void load_steps(const typename W::ElementA* dy, const typename W::ElementB* x,
                                           const Geometry& geometry, const Place& place, const Slice& slice,
                                           typename W::Lds& lds) {
  using Loader = Source<W, W::load_threads>;
  Loader source(geometry, place, slice.first * W::Tile::K, static_cast<int>(threadIdx.x), dy, x);
  typename Loader::Stage stage;
  for (int32_t step = 0; step < slice.count; ++step) {
    source.fetch(stage);
    source.store(stage, lds.operands[step % 2]);
    source.next();
    __syncthreads(); // the step is complete; the math waves are done with the one before
  }
}

// The math waves' way through them.
template <class W>
__device__ __forceinline__ void multiply_steps(const Slice& slice, int thread, typename W::Lds& lds,
                                               Sums<W>& sums) {
  clear<W>(sums);
  for (int32_t step = 0; step < slice.count; ++step) {
    __syncthreads(); // the step is complete
    compute<W>(lds.operands[step % 2], thread, sums);
  }
}

// The sums of the waves whose rows belong to a round, as a tile of W::rows rows in LDS.
template <class W>
__device__ __forceinline__ void store_round(const Sums<W>& sums, int round, int thread,
                                            typename W::Sum* tile) {
  using Fragment = typename W::Fragment;
  using Extent = typename W::FragmentExtent;
  using Sum = typename W::Sum;
  const int row_of_wave = wave_row<W>(thread) - round * W::rows;
  const bool is_mine = row_of_wave >= 0 && row_of_wave < W::rows;
  Sum* corner = tile + (is_mine ? row_of_wave : 0) * W::pitch_c + wave_column<W>(thread);
  Fragment::together([corner, is_mine, &sums] {
    for (int i = 0; is_mine && i < W::repeat_m; ++i)
      for (int j = 0; j < W::repeat_n; ++j) {
        Sum* fragment = corner + i * Extent::M * W::pitch_c + j * Extent::N;
        Fragment::for_each(sums.fragment[i][j], [fragment](int row, int column, Sum value) {
          fragment[row * W::pitch_c + column] = value;
        });
      }
  });
}

template <class W>
__global__ void __launch_bounds__(W::threads)
    kernel_wavelet(const typename W::ElementA* dy, const typename W::ElementB* x,
                   const typename W::ElementC* d, typename W::ElementC* dw, Geometry geometry) {
  using Lds = typename W::Lds;
  BITGATE_LDS(Lds, lds);
  const Place place = place_of_block<W>(geometry);
  const Slice slice = slice_of_block<W>(geometry, place);
  if (slice.count == 0)
    return;
  if (static_cast<int>(threadIdx.x) < W::load_threads) {
    load_steps<W>(dy, x, geometry, place, slice, lds);
    for (int barrier = 0; barrier < 2 * W::rounds; ++barrier)
      __syncthreads(); // those of the epilogue
    return;
  }
  const int thread = static_cast<int>(threadIdx.x) - W::load_threads;
  Sums<W> sums;
  multiply_steps<W>(slice, thread, lds, sums);
  const Geometry& late = bitgate::loaded_here(geometry);
  for (int round = 0; round < W::rounds; ++round) {
    __syncthreads(); // LDS is free: of operands, or of the round before
    store_round<W>(sums, round, thread, lds.c);
    __syncthreads(); // the round's sums are complete
    Place part = place;
    part.first_row += round * W::rows;
    if (late.slices > 1)
      add_to_result<W, W::math_threads, W::rows>(lds.c, late, part, thread, dw);
    else
      store_result<W, W::math_threads, W::rows>(lds.c, late, part, thread, d, dw);
  }
}

// The workgroup is larger than the block that computes.
template <class W> constexpr Facts make_facts_of_workgroup() {
  Facts facts = facts_of<W>;
  facts.block = W::threads;
  return facts;
}
template <class W> inline constexpr Facts facts_of_workgroup = make_facts_of_workgroup<W>();

// Of all instances with the same types.
template <class A, class B, class C>
void launch_wavelet(const Plan& plan, void (*kernel)(const A*, const B*, const C*, C*, Geometry),
                    const bitgate::Buffers& buffers, bitgate::Context& context) {
  auto* dw = static_cast<C*>(buffers.wei);
  if (plan.geometry.slices > 1)
    clear_result(plan.job, dw, context);
  const bool launched =
      bitgate::launch(context, "kernel_wavelet", kernel, plan.grid, dim3(plan.facts.block), 0,
                      static_cast<const A*>(buffers.out), static_cast<const B*>(buffers.in),
                      static_cast<const C*>(buffers.d[0]), dw, plan.geometry);
  plan.record("wavelet", launched, 1, context);
}

template <class W>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const Plan plan(facts_of_workgroup<W>, request, address_of(kernel_wavelet<W>), context);
  launch_wavelet(plan, kernel_wavelet<W>, buffers, context);
}

template <class W> struct Functions {
  static int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
    return bitgate::implicit_gemm::bwd_weight::supports(facts_of<W>, request, {true, false, W::threads},
                                                        reason);
  }
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static constexpr auto run = bwd_weight_wavelet::run<W>;
};

// Named like f16_128x64x32_a8b8c8_l256m128_1x1s1p0: load and math threads.
template <class W> bitgate::ConvInstance instance(const char* dtypes) {
  char threads[24];
  std::snprintf(threads, sizeof threads, "_l%dm%d", W::load_threads, W::math_threads);
  static const InstanceName name(dtypes, facts_of<W>, threads);
  bitgate::ConvInstance instance = describe_any_layout<W, Functions<W>>(name.text, "bwd_weight", dtypes);
  instance.block_size = W::threads;
  return instance;
}

// An instance for each variant.
template <class... Variants>
using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Variants>...>;

} // namespace bwd_weight_wavelet

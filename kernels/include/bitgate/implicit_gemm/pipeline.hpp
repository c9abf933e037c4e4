// The main loop of an implicit GEMM: how the steps of one tile's reduction flow from global memory through
// LDS to the sums, and how the steps are cut over blocks (split-K).
//
// A step is one Tile::K of the reduction. A family says what its steps are by a Source, one thread's view:
//     Source::Stage         what the thread moves of one step, in registers
//     fetch(stage)          reads that of the step at which the source stands
//     next()                goes to the following step
//     store(stage, tiles)   writes it into LDS
//
//     visit_a(visit), visit_b(visit)   for a ring: visit(pass, is the thread's vector there, where it lies)
//
// Depth 1: fetch, store, multiply, one step after the other. Depth 2: while a step is multiplied, the next
// one is already on its way to registers; LDS holds one step all the same. A ring: LDS holds as many steps as
// it is deep, as they lie in memory; one is multiplied while the others are on their way (transfer.hpp).
#pragma once

#include "bitgate/implicit_gemm/sums.hpp"
#include "bitgate/implicit_gemm/transfer.hpp"

namespace bitgate::implicit_gemm {

// What the code of a kernel may take for granted of the tiles that a launch computes: each has more than one
// step, none has, or it is asked of each. A wrong claim gives wrong sums.
enum class MainLoop { all, none, mixed };

inline const char* main_loop_name(MainLoop loop) {
  static constexpr const char* names[] = {"all", "none", "mixed"};
  return names[static_cast<int>(loop)];
}

// A tiling with `Depth` steps on their way. A Tiling by itself has one.
template <int Depth, class Tiling> struct Staged : Tiling {
  static_assert(Depth == 1 || Depth == 2);
  static constexpr int depth = Depth;
};

// One with a ring of `Depth` steps in LDS. Turned: operands whose rows in memory run along the tile's rows
// (A) or the reduction (B) lie so in LDS, too.
template <int Depth, bool TurnedA, bool TurnedB, class Tiling> struct Ring : Tiling {
  static_assert(Depth > 2);
  using Tile = typename Tiling::Tile;
  using FactorA = typename Tiling::FactorA;
  using FactorB = typename Tiling::FactorB;
  using CoverA = RingCover<typename Tiling::CoverA>;
  static constexpr int depth = Depth;
  static constexpr bool ring = true;
  static constexpr bool turned_a = TurnedA, turned_b = TurnedB;
  static constexpr int pitch_a = (TurnedA ? Tile::M : Tile::K) + 16 / sizeof(FactorA),
                       pitch_b = (TurnedB ? Tile::K : Tile::N) + 16 / sizeof(FactorB);

  struct Operands {
    alignas(16) FactorA a[(TurnedA ? Tile::K : Tile::M) * pitch_a];
    alignas(16) FactorB b[(TurnedB ? Tile::N : Tile::K) * pitch_b];
  };
  // The epilogue reuses the operands' place for the sums.
  union Lds {
    Operands steps[Depth];
    alignas(16) typename Tiling::Sum c[Tiling::rows * Tiling::pitch_c];
  };
  static_assert(sizeof(Lds) <= lds_bytes_here, "LDS of one block");
};
template <class Tiling> constexpr int depth_of() {
  if constexpr (requires { Tiling::depth; })
    return Tiling::depth;
  else
    return 1;
}

template <class Tiling> inline constexpr bool is_ring = requires { Tiling::ring; };

// Blocks of a ring that a compute unit with 64 Ki registers and 228 KiB of LDS can hold at once, where a
// thread has 96 registers beside its sums; of others at least one.
template <class Tiling> constexpr int blocks_at_once() {
  if constexpr (is_ring<Tiling>) {
    constexpr int sums = Tiling::Tile::M * Tiling::Tile::N / Tiling::block;
    constexpr int by_registers = 65536 / (Tiling::block * (sums + 96)),
                  by_lds = 228 * 1024 / (static_cast<int>(sizeof(typename Tiling::Lds)) + 1024);
    return by_registers < by_lds ? by_registers : by_lds;
  } else {
    return 1;
  }
}
// Has it kernels of their own for reductions of one step, and of more?
template <class Tiling>
inline constexpr bool has_main_loop_kernels = depth_of<Tiling>() == 2 && !is_ring<Tiling>;

// ---- cutting a reduction

// The steps of one block of a split reduction; count may be 0.
struct Slice {
  int32_t first, count;
};

// Slice `index` of `slices`: equal ones from the front, so that the last may be shorter, and those behind it
// empty.
BITGATE_HD inline Slice slice_of(int32_t steps, int32_t slices, int32_t index) {
  if (slices == 1)
    return {0, steps};
  const int32_t length = steps / slices + (steps % slices != 0);
  const int64_t first = static_cast<int64_t>(length) * index, rest = steps - first;
  if (rest <= 0)
    return {0, 0};
  return {static_cast<int32_t>(first), rest < length ? static_cast<int32_t>(rest) : length};
}

BITGATE_HD inline bool has_main_loop(const Slice& slice) {
  return slice.count > 1;
}

// What holds for all slices of a launch's reductions. The empty ones compute nothing.
class MainLoops {
public:
  void add(int32_t steps, int32_t slices) {
    const Slice longest = slice_of(steps, slices, 0);
    const Slice shortest = slice_of(steps, slices, (steps - 1) / longest.count);
    some_loop_ |= has_main_loop(longest);
    some_do_not_ |= !has_main_loop(shortest);
  }
  MainLoop kind() const {
    return !some_loop_ ? MainLoop::none : some_do_not_ ? MainLoop::mixed : MainLoop::all;
  }

private:
  bool some_loop_ = false, some_do_not_ = false;
};

// ---- the loop

// sums += the step in LDS. Afterwards LDS may be written again.
template <class Tiling>
__device__ __forceinline__ void multiply_step(const typename Tiling::Operands& tiles, int thread,
                                              Sums<Tiling>& sums) {
  constexpr Barrier tiles_are_complete{}, tiles_are_free{};
  in_turn(tiles_are_complete, product<Tiling>(tiles, thread, sums), tiles_are_free);
}

// sums += `count` steps, at least one, from where the source stands. Each depth has its form of the loop.
template <class Tiling, MainLoop, class Source>
  requires(depth_of<Tiling>() == 1)
__device__ __forceinline__ void reduce(Source& source, int32_t count, typename Tiling::Lds& lds, int thread,
                                       Sums<Tiling>& sums) {
  auto& tiles = lds.operands;
  typename Source::Stage stage;
  for (;; source.next()) {
    source.fetch(stage);
    source.store(stage, tiles);
    multiply_step<Tiling>(tiles, thread, sums);
    if (--count == 0)
      return;
  }
}

template <class Tiling, MainLoop loop, class Source>
  requires(has_main_loop_kernels<Tiling>)
__device__ __forceinline__ void reduce(Source& source, int32_t count, typename Tiling::Lds& lds, int thread,
                                       Sums<Tiling>& sums) {
  auto& tiles = lds.operands;
  typename Source::Stage stage;
  source.fetch(stage);
  source.store(stage, tiles);
  if (loop == MainLoop::all || (loop == MainLoop::mixed && has_main_loop({0, count})))
    do {
      source.next();
      source.fetch(stage); // on its way while the step before is multiplied
      multiply_step<Tiling>(tiles, thread, sums);
      source.store(stage, tiles);
    } while (--count > 1);
  multiply_step<Tiling>(tiles, thread, sums); // the last one
}

// Are the factors of the next multiplication loaded while the present ones are multiplied? Where a thread has
// registers for both.
#if defined(BITGATE_PLATFORM_NVIDIA)
inline constexpr bool loads_factors_ahead = true;
#else
inline constexpr bool loads_factors_ahead = false;
#endif

// Step i lies in place i % depth of the ring. The barrier of a step says that it is complete, and that all
// waves are done with the step before, whose place the one that is started then takes.
template <class Tiling, MainLoop, class Source>
  requires(is_ring<Tiling> && !loads_factors_ahead)
__device__ __forceinline__ void reduce(Source& source, int32_t count, typename Tiling::Lds& lds, int thread,
                                       Sums<Tiling>& sums) {
  constexpr int ahead = Tiling::depth - 1;
  Transfer<Tiling, Source> transfer(lds.steps, source.thread_of());
  for (int32_t step = 0; step < ahead; ++step) {
    if (step < count) {
      transfer.start(source, step);
      transfer.land(source, step);
      source.next();
    }
    transfer.close();
  }
  int place = 0, place_ahead = ahead;
  for (int32_t step = 0; step < count; ++step) {
    transfer.template await<ahead - 1>();
    __syncthreads(); // the step is complete, the one before is free
    const bool has_more = step + ahead < count;
    if (has_more)
      transfer.start(source, place_ahead);
    compute<Tiling>(lds.steps[place], thread, sums);
    if (has_more) {
      transfer.land(source, place_ahead);
      source.next();
    }
    transfer.close();
    place = place == ahead ? 0 : place + 1;
    place_ahead = place_ahead == ahead ? 0 : place_ahead + 1;
  }
  __syncthreads(); // the ring is free
}

// The same with factors ahead. The barrier stands before the last multiplication of a step: its factors have
// been loaded, so that its place is free, and those of the next step come while it runs.
template <class Tiling, MainLoop, class Source>
  requires(is_ring<Tiling> && loads_factors_ahead)
__device__ __forceinline__ void reduce(Source& source, int32_t count, typename Tiling::Lds& lds, int thread,
                                       Sums<Tiling>& sums) {
  constexpr int ahead = Tiling::depth - 1, each_k = Tiling::FragmentExtent::K;
  static_assert(Tiling::Tile::K % (2 * each_k) == 0, "factors alternate between two places");
  Transfer<Tiling, Source> transfer(lds.steps, source.thread_of());
  Factors<Tiling> factors[2];
  const auto await = [&] {
    transfer.template await<ahead - 1>();
    __syncthreads(); // the next step is complete, the factors of this one are loaded
  };
  for (int32_t step = 0; step < ahead; ++step) {
    if (step < count) {
      transfer.start(source, step);
      if (step + 1 < count)
        source.next();
    }
    transfer.close();
  }
  await();
  load_factors<Tiling>(lds.steps[0], 0, thread, factors[0]);
  int place = 0, place_ahead = ahead;
  for (int32_t step = 0; step < count; ++step) {
    const bool has_more = step + ahead < count;
    if (has_more)
      transfer.start(source, place_ahead);
    transfer.close();
    place_ahead = place_ahead == ahead ? 0 : place_ahead + 1;
    BITGATE_UNROLL(8)
    for (int k = 0; k < Tiling::Tile::K; k += each_k) {
      const bool is_last = k + each_k == Tiling::Tile::K;
      if (is_last) {
        place = place == ahead ? 0 : place + 1;
        await();
      }
      load_factors<Tiling>(lds.steps[place], is_last ? 0 : k + each_k, thread, factors[k / each_k % 2 ^ 1]);
      multiply_factors<Tiling>(factors[k / each_k % 2], sums);
    }
    if (step + ahead + 1 < count)
      source.next();
  }
  __syncthreads(); // all factors are loaded: the ring is free
}

// The sums of `count` steps, at least one, from where the source stands.
template <class Tiling, MainLoop loop, class Source>
__device__ __forceinline__ void sum_steps(Source& source, int32_t count, int thread,
                                          typename Tiling::Lds& lds, Sums<Tiling>& sums) {
  clear<Tiling>(sums);
  reduce<Tiling, loop>(source, count, lds, thread, sums);
}

// The rows of a round as one tile in LDS. Rounds follow each other, from 0 on.
template <class Tiling>
__device__ __forceinline__ void share_sums(const Sums<Tiling>& sums, int round, int thread,
                                           typename Tiling::Lds& lds) {
  if (round > 0)
    __syncthreads(); // the rows before have been taken
  store_sums<Tiling>(sums, round, thread, lds.c);
  __syncthreads(); // sums are complete
}

// ---- on the host

// The kernel of a launch. Kernels::of<loop>() is the one that takes `loop` for granted.
template <class Tiling, class Kernels> auto kernel_for(MainLoop loop) {
  if constexpr (has_main_loop_kernels<Tiling>) {
    if (loop == MainLoop::all)
      return Kernels::template of<MainLoop::all>();
    if (loop == MainLoop::none)
      return Kernels::template of<MainLoop::none>();
  }
  return Kernels::template of<MainLoop::mixed>();
}

} // namespace bitgate::implicit_gemm

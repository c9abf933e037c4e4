// How the next steps of a reduction come to LDS while this one is multiplied. On NVIDIA GPUs by copies that
// run by themselves (cp.async), elsewhere through the thread's registers: the loads before the
// multiplication, the writes behind it.
//
//     start(source, tiles)   begins to move the step at which the source stands
//     land(source, tiles)    ends what is left of that for the thread to do
//     close()                what was started since the last close() is one step
//     await()                waits for all steps but the latest `still_open` that were closed
#pragma once

#include "bitgate/implicit_gemm/operands.hpp"

namespace bitgate::implicit_gemm {

#if defined(BITGATE_PLATFORM_NVIDIA)

// 16 bytes from global memory to LDS, zeros where there are none to read.
template <class T> __device__ __forceinline__ void copy_or_clear(T* to, const T* from) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = from != nullptr ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(address), "l"(from), "r"(bytes)
               : "memory");
}

template <class Tiling, class Source> struct Transfer {
  using CoverA = typename Source::CoverA;
  using CoverB = typename Source::CoverB;
  using Operands = typename Tiling::Operands;
  static_assert(sizeof(ChunkOf<typename Tiling::FactorA, CoverA::vector>) == 16 &&
                sizeof(ChunkOf<typename Tiling::FactorB, CoverB::vector>) == 16);

  __device__ __forceinline__ void start(Source& source, Operands& tiles) {
    source.visit_a([&](int pass, const typename Tiling::FactorA* from) {
      copy_or_clear(tiles.a + lds_place<CoverA, Tiling::pitch_a>(source.thread_of(), pass), from);
    });
    source.visit_b([&](int pass, const typename Tiling::FactorB* from) {
      copy_or_clear(tiles.b + lds_place<CoverB, Tiling::pitch_b>(source.thread_of(), pass), from);
    });
  }
  __device__ __forceinline__ void land(const Source&, Operands&) {}
  __device__ __forceinline__ void close() { asm volatile("cp.async.commit_group;" : : : "memory"); }
  template <int still_open> __device__ __forceinline__ void await() {
    asm volatile("cp.async.wait_group %0;" : : "n"(still_open) : "memory");
  }
};

#else

template <class Tiling, class Source> struct Transfer {
  using Operands = typename Tiling::Operands;
  typename Source::Stage stage;

  __device__ __forceinline__ void start(Source& source, Operands&) { source.fetch(stage); }
  __device__ __forceinline__ void land(const Source& source, Operands& tiles) { source.store(stage, tiles); }
  __device__ __forceinline__ void close() {}
  template <int still_open> __device__ __forceinline__ void await() {}
};

#endif

} // namespace bitgate::implicit_gemm

// How the next steps of a reduction come to LDS while this one is multiplied. On NVIDIA GPUs by copies that
// run by themselves (cp.async), elsewhere through the thread's registers: the loads before the
// multiplication, the writes behind it.
//
//     start(source, place)   begins to move the step at which the source stands to a place of the ring
//     land(source, place)    ends what is left of that for the thread to do
//     close()                what was started since the last close() is one step
//     await()                waits for all steps but the latest `still_open` that were closed
#pragma once

#include "bitgate/implicit_gemm/operands.hpp"

namespace bitgate::implicit_gemm {

#if defined(BITGATE_PLATFORM_NVIDIA)

// Where a thread's vectors lie in LDS, as the copies want it. A number that the compiler cannot see through:
// it would work it out anew in each step.
template <class T> __device__ __forceinline__ uint32_t lds_address(const T* place) {
  auto address = static_cast<uint32_t>(__cvta_generic_to_shared(place));
  asm volatile("" : "+r"(address));
  return address;
}

// 16 bytes from global memory to LDS, zeros where there are none to read. Through L1: blocks of a compute
// unit often share an operand, and what L2 delivers is what bounds large tiles.
template <class T> __device__ __forceinline__ void copy_or_clear(uint32_t to, bool is_there, const T* from) {
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(bytes)
               : "memory");
}

template <class Tiling, class Source> struct Transfer {
  using CoverA = typename Source::CoverA;
  using CoverB = typename Source::CoverB;
  using A = typename Tiling::FactorA;
  using B = typename Tiling::FactorB;
  using Operands = typename Tiling::Operands;
  static_assert(sizeof(ChunkOf<A, CoverA::vector>) == 16 && sizeof(ChunkOf<B, CoverB::vector>) == 16);
  static constexpr int pass_a = CoverA::rows * Tiling::pitch_a * static_cast<int>(sizeof(A)),
                       pass_b = CoverB::rows * Tiling::pitch_b * static_cast<int>(sizeof(B));

  uint32_t a, b; // of the thread's first vectors in the ring's first place

  __device__ __forceinline__ Transfer(Operands* steps, int thread)
      : a(lds_address(steps->a + lds_place<CoverA, Tiling::pitch_a>(thread, 0))),
        b(lds_address(steps->b + lds_place<CoverB, Tiling::pitch_b>(thread, 0))) {}

  __device__ __forceinline__ void start(Source& source, int place) {
    const auto step = static_cast<uint32_t>(place) * static_cast<uint32_t>(sizeof(Operands));
    source.visit_a([&](int pass, bool is_there, const A* from) {
      copy_or_clear(a + step + pass * pass_a, is_there, from);
    });
    source.visit_b([&](int pass, bool is_there, const B* from) {
      copy_or_clear(b + step + pass * pass_b, is_there, from);
    });
  }
  __device__ __forceinline__ void land(const Source&, int) {}
  __device__ __forceinline__ void close() { asm volatile("cp.async.commit_group;" : : : "memory"); }
  template <int still_open> __device__ __forceinline__ void await() {
    asm volatile("cp.async.wait_group %0;" : : "n"(still_open) : "memory");
  }
};

#else

template <class Tiling, class Source> struct Transfer {
  typename Tiling::Operands* steps;
  typename Source::Stage stage;

  __device__ __forceinline__ Transfer(typename Tiling::Operands* steps_, int) : steps(steps_) {}
  __device__ __forceinline__ void start(Source& source, int) { source.fetch(stage); }
  __device__ __forceinline__ void land(const Source& source, int place) { source.store(stage, steps[place]); }
  __device__ __forceinline__ void close() {}
  template <int still_open> __device__ __forceinline__ void await() {}
};

#endif

} // namespace bitgate::implicit_gemm

// How an instance cuts an implicit GEMM: block tile, wave tile, matrix fragment, and the vectors that threads
// move. The operands A (M x K) and B (K x N) and the sums C (M x N) are tensors that a family says how to
// read and write.
#pragma once

#include <type_traits>

#include "bitgate/fragment.hpp"
#include "bitgate/lds.hpp"

namespace bitgate::implicit_gemm {

template <int M_, int N_, int K_> struct Extent {
  static constexpr int M = M_, N = N_, K = K_;
};
// The fragments that instances are built of.
using Wide = Extent<32, 32, 8>;
using Small = Extent<16, 16, 16>;
using Small32 = Extent<16, 16, 4>; // of f32
using Small8 = Extent<16, 16, 32>; // of 8 bits, in waves of 64
// Elements that a thread moves at once of A, of B and of the result, each along the dimension that is
// contiguous in memory.
template <int A_, int B_, int C_> struct Vectors {
  static constexpr int A = A_, B = B_, C = C_;
};

// What one thread moves at once, as raw bits: 1 to 16 bytes in integers, which compilers keep in registers.
// They may alias elements of any type.
template <int Bytes> struct alignas(Bytes) [[gnu::may_alias]] Chunk {
  uint64_t words[Bytes / 8];
};
#if defined(BITGATE_PLATFORM_HOST)
// Two words that are written one by one and read as one would wait for the cache.
template <> struct alignas(16) [[gnu::may_alias]] Chunk<16> {
  uint64_t words __attribute__((vector_size(16)));
};
#endif
template <> struct alignas(4) [[gnu::may_alias]] Chunk<4> {
  uint32_t words[1];
};
template <> struct alignas(2) [[gnu::may_alias]] Chunk<2> {
  uint16_t words[1];
};
template <> struct [[gnu::may_alias]] Chunk<1> {
  uint8_t words[1];
};
template <class T, int Count> using ChunkOf = Chunk<static_cast<int>(sizeof(T)) * Count>;

// Both addresses are multiples of the chunk's size. Not by memcpy: nvcc would move single bytes.
template <int Count, class T> BITGATE_HD __forceinline__ ChunkOf<T, Count> read_chunk(const T* from) {
  return *reinterpret_cast<const ChunkOf<T, Count>*>(from);
}
template <int Bytes, class T> BITGATE_HD __forceinline__ void write_chunk(T* to, const Chunk<Bytes>& chunk) {
  *reinterpret_cast<Chunk<Bytes>*>(to) = chunk;
}

// A chunk of an operand as it is multiplied: the same bits, or each element rounded to the factor's type.
template <class Factor, int Count, class Element>
BITGATE_HD __forceinline__ ChunkOf<Factor, Count> read_factors(const Element* from) {
  const auto chunk = read_chunk<Count>(from);
  if constexpr (std::is_same_v<Factor, Element>) {
    return chunk;
  } else {
    struct Elements {
      Element at[Count];
    };
    struct Factors {
      Factor at[Count];
    };
    const auto elements = bits_as<Elements>(chunk);
    Factors factors;
    for (int i = 0; i < Count; ++i)
      factors.at[i] = Number<Factor>::narrow(Number<Element>::widen(elements.at[i]));
    return bits_as<ChunkOf<Factor, Count>>(factors);
  }
}

// How the threads of a block cover a Rows x Columns tile: `lanes` vectors side by side, `passes` times
// downwards.
template <int Rows, int Columns, int Vector, int Block> struct Cover {
  static constexpr int vector = Vector;
  static constexpr int lanes = Columns / Vector;
  static constexpr int rows = Block / lanes;
  static constexpr int passes = Rows / rows;
  static_assert(Columns % Vector == 0 && Block % lanes == 0 && Rows % rows == 0,
                "threads do not cover the tile evenly");

  static BITGATE_HD int column(int thread) { return thread % lanes * Vector; }
  static BITGATE_HD int row(int thread, int pass) { return thread / lanes + pass * rows; }
};

// The same for a ring, whose rows lie 16 bytes more than their length apart. Of rows of 64 bytes LDS takes
// two at once, which must not be neighbours: these meet in a bank, rows that are four apart do not.
template <class Rows> struct RingCover : Rows {
  static BITGATE_HD int row(int thread, int pass) {
    const int row = Rows::row(thread, pass);
    if constexpr (Rows::lanes == 4 && Rows::rows % 8 == 0)
      return row / 8 * 8 + row % 2 * 4 + row % 8 / 2;
    else
      return row;
  }
};

// Where a thread's vector of a pass lies in a tile that is stored as it lies in memory.
template <class Cover, int pitch> BITGATE_HD __forceinline__ int lds_place(int thread, int pass) {
  return Cover::row(thread, pass) * pitch + Cover::column(thread);
}

// Types of the elements of A, B and C in memory, and of the factors that A and B are multiplied as. By their
// codes, so that a kernel's symbol says them: bitgate.kernel.build.matrix_check looks for them there.
template <int32_t a, int32_t b, int32_t c, int32_t factor_a, int32_t factor_b> struct TypesOf {
  using A = typename ElementOf<a>::type;
  using B = typename ElementOf<b>::type;
  using C = typename ElementOf<c>::type;
  using FactorA = typename ElementOf<factor_a>::type;
  using FactorB = typename ElementOf<factor_b>::type;
  // Are elements of one type multiplied in two? Then each operand's compute type is its own.
  static constexpr bool apart = factor_a != factor_b && a == b && b == c;
  // What a problem of these types calls its compute type: the factors', of mixed ones that of the forward
  // pass's x.
  static constexpr int32_t compute = apart ? a : factor_a;
  static constexpr int32_t compute_a = apart ? factor_a : compute, compute_b = apart ? factor_b : compute;
};
template <class A, class B = A, class C = A, class FactorA = A, class FactorB = B>
using Types = TypesOf<code_of<A>, code_of<B>, code_of<C>, code_of<FactorA>, code_of<FactorB>>;

// What a block may have on all targets. This one may give it less: NVIDIA's do where they are asked.
inline constexpr int most_lds_bytes = 65536;
#if defined(BITGATE_PLATFORM_NVIDIA)
inline constexpr int lds_bytes_here = most_lds_bytes;
#else
inline constexpr int lds_bytes_here = BITGATE_LDS_BYTES;
#endif

// WavesM x WavesN waves of Wave lanes share the block tile; each wave holds RepeatM x RepeatN fragments.
template <class Types_, class Tile_, int WavesM_, int WavesN_, class FragmentExtent_, class Vectors_,
          int Wave_ = 64>
struct Tiling {
  using ElementA = typename Types_::A;
  using ElementB = typename Types_::B;
  using ElementC = typename Types_::C;
  using FactorA = typename Types_::FactorA;
  using FactorB = typename Types_::FactorB;
  static constexpr int32_t compute = Types_::compute, compute_a = Types_::compute_a,
                           compute_b = Types_::compute_b;
  using Tile = Tile_;
  using Vector = Vectors_;
  using FragmentExtent = FragmentExtent_;
  using Fragment =
      bitgate::Fragment<FactorA, FactorB, FragmentExtent::M, FragmentExtent::N, FragmentExtent::K, Wave_>;
  using Sum = typename Fragment::Sum;

  static constexpr int wave = Wave_;
  static constexpr int waves_n = WavesN_;
  static constexpr int block = WavesM_ * WavesN_ * Wave_;
  static constexpr int wave_m = Tile::M / WavesM_, wave_n = Tile::N / WavesN_;
  static constexpr int repeat_m = wave_m / FragmentExtent::M, repeat_n = wave_n / FragmentExtent::N;
  static_assert(repeat_m * FragmentExtent::M * WavesM_ == Tile::M &&
                repeat_n * FragmentExtent::N * WavesN_ == Tile::N);
  static_assert(Tile::K % FragmentExtent::K == 0);

  using CoverA = Cover<Tile::M, Tile::K, Vector::A, block>;

  // Rows are 16 bytes longer than the tile, so that rows below each other start in different LDS banks.
  static constexpr int pitch_a = Tile::K + 16 / sizeof(FactorA), pitch_b = Tile::N + 16 / sizeof(FactorB),
                       pitch_c = Tile::N + 4;

  // Rows of sums that LDS takes at once, in as many bytes on every target; the rest follow in a second round.
  static constexpr int whole_sums = Tile::M * pitch_c * static_cast<int>(sizeof(Sum));
  static constexpr int rounds = whole_sums > most_lds_bytes ? 2 : 1;
  static constexpr int rows = Tile::M / rounds;
  static_assert(rounds == 1 || rows % wave_m == 0);
  using CoverC = Cover<rows, Tile::N, Vector::C, block>;

  // Do operands lie turned in LDS, A as K x M, B as N x K?
  static constexpr bool turned_a = false, turned_b = false;
  struct Operands {
    alignas(16) FactorA a[Tile::M * pitch_a];
    alignas(16) FactorB b[Tile::K * pitch_b];
  };
  // The epilogue reuses the operands' place for the sums.
  union Lds {
    Operands operands;
    alignas(16) Sum c[rows * pitch_c];
  };
};

// A tiling of 16-bit factors, or the same for 32 bits: half as many k in a tile and elements in a vector, so
// that both are as many bytes. Vectors of C have 16 bytes at most, whatever C's type is.
template <class Types> inline constexpr bool has_wide_factors = sizeof(typename Types::FactorA) == 4;
template <class Types> constexpr int as_many_bytes(int elements) {
  return has_wide_factors<Types> && elements > 1 ? elements / 2 : elements;
}
template <class Types> constexpr int vector_of_c(int elements) {
  constexpr int most = 16 / static_cast<int>(sizeof(typename Types::C));
  return as_many_bytes<Types>(elements) < most ? as_many_bytes<Types>(elements) : most;
}
template <class Types, class Tile, int WavesM, int WavesN, class Fragment, class Vector, int Wave = 64>
using TilingFor = Tiling<
    Types, Extent<Tile::M, Tile::N, as_many_bytes<Types>(Tile::K)>, WavesM, WavesN,
    std::conditional_t<has_wide_factors<Types>, Small32, Fragment>,
    Vectors<as_many_bytes<Types>(Vector::A), as_many_bytes<Types>(Vector::B), vector_of_c<Types>(Vector::C)>,
    Wave>;

// The tiling that each family has for problems of any size: a small tile, and no vectors.
template <class Types, int Wave>
using AnySize =
    TilingFor<Types, Extent<32, 32, 32>, Wave == 64 ? 1 : 2, Wave == 64 ? 1 : 2,
              std::conditional_t<sizeof(typename Types::FactorA) == 1 && Wave == 64, Small8, Small>,
              Vectors<1, 1, 1>, Wave>;

} // namespace bitgate::implicit_gemm

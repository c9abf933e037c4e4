// How a block of the tiled backward pass is cut. It owns `rows` queries, or keys, of which both operands stay
// in LDS: q and do, or k and v. The others come 32 at a time, as chunks of `columns` columns.
#pragma once

#include "../attention/tiles.hpp"

namespace attention_bwd {

using namespace bitgate::implicit_gemm;

using attention::Rows;
using bitgate::Number;

// A query as slopes need it: the keys that it admits, the largest logit to base 2, one over the sum of powers
// of 2, and the sum of p dp. Of one that is not there no key is admitted.
struct Query {
  int32_t first, end;
  float top, inverse, delta;
};

template <class T, int OwnRows, int Head, int Wave> struct Shape {
  using Element = T;
  static constexpr int rows = OwnRows, others = 32, head = Head, wave = Wave;
  static constexpr int columns = sizeof(T) == 4 && Wave == 32 ? 32 : 64; // as registers allow
  static constexpr int chunks = Head / columns;
  static constexpr int waves_m = OwnRows / 16, waves_n = 2, block = waves_m * waves_n * Wave;
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int pad = 16 / sizeof(T); // rows below each other start in different LDS banks
  static constexpr int threads_a_row = block / OwnRows, cells_a_thread = others / threads_a_row;
  static_assert(Head % columns == 0 && OwnRows % 16 == 0 && others % threads_a_row == 0);

  using FragmentExtent = std::conditional_t<sizeof(T) == 4, Small32, Small>;
  template <int N, int K>
  using Product = Tiling<Types<T>, Extent<OwnRows, N, K>, waves_m, waves_n, FragmentExtent,
                         Vectors<vector, vector, vector>, Wave>;
  // Operands of a product, wherever they lie in LDS.
  struct Pointers {
    const T *a, *b;
  };

  // Logits and products do . v: rows times a chunk of the others, which lies as it does in memory where
  // fragments take it so.
  struct Pairs : Product<others, columns> {
    static constexpr bool turned_b = sizeof(T) == 2;
    static constexpr int pitch_a = Head + pad, pitch_b = (turned_b ? columns : others) + pad;
    using Operands = Pointers;
  };
  // A chunk of a gradient: weights or slopes times a chunk of the others.
  struct Gradient : Product<columns, others> {
    static constexpr int pitch_a = others + pad, pitch_b = columns + pad;
    using Operands = Pointers;
  };

  using ReadRows = Cover<OwnRows, columns, vector, block>;
  using ReadOthers = Cover<others, columns, vector, block>;
  static constexpr int chunk_of_pairs = (Pairs::turned_b ? others : columns) * Pairs::pitch_b;
  static constexpr int chunk_of_gradient = others * Gradient::pitch_b;
  static constexpr int chunk_cells = chunk_of_pairs > chunk_of_gradient ? chunk_of_pairs : chunk_of_gradient;
  static constexpr int pitch_x = others + 1, pitch_sum = columns + 4;
  static constexpr int most_queries = OwnRows > others ? OwnRows : others;

  struct Lds {
    union {
      alignas(16) T own[2][OwnRows * Pairs::pitch_a];
      alignas(16) float sums[OwnRows * pitch_sum]; // in the end, chunk by chunk
    };
    alignas(16) T chunk[2][chunk_cells];
    alignas(16) T weights[OwnRows * Gradient::pitch_a];
    alignas(16) T slopes[OwnRows * Gradient::pitch_a];
    float x[2][OwnRows * pitch_x]; // logits unscaled, products do . v
    Query query[most_queries];     // of the rows, or of the others
  };
  static_assert(sizeof(Lds) <= most_lds_bytes, "LDS of one block");
};

} // namespace attention_bwd

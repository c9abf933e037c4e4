// How a block of the tiled attention is cut: Queries x Head of q stay in LDS, and keys come `keys` at a time,
// as chunks of `columns` columns: first those of k, then those of v. Each wave has 16 queries.
#pragma once

#include "bitgate/attention.hpp"
#include "bitgate/implicit_gemm/operands.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"

namespace attention {

using namespace bitgate::implicit_gemm;

using bitgate::bits_as;
using bitgate::Number;

template <class T, int Queries, int Head, int Wave, class KeyElement = T> struct Shape {
  using Element = T;
  using Key = KeyElement; // of k and v, in memory; in LDS they are of T
  static constexpr int queries = Queries, head = Head, wave = Wave;
  static constexpr int keys = 32;
  static constexpr int columns = sizeof(T) == 4 && Wave == 32 ? 32 : 64; // as registers allow
  static constexpr int chunks = Head / columns;
  static constexpr int waves = Queries / 16, block = waves * Wave;
  static constexpr int vector = 16 / sizeof(T);
  static constexpr int pad = 16 / sizeof(T); // rows below each other start in different LDS banks
  static constexpr int threads_a_query = block / Queries, keys_a_thread = keys / threads_a_query;
  static_assert(Head % columns == 0 && Queries % 16 == 0 && keys % threads_a_query == 0);

  using FragmentExtent = std::conditional_t<sizeof(T) == 4, Small32, Small>;
  template <int N, int K>
  using Product = Tiling<Types<T>, Extent<Queries, N, K>, waves, 1, FragmentExtent,
                         Vectors<vector, vector, vector>, Wave>;
  // Operands of a product, wherever they lie in LDS.
  struct Pointers {
    const T *a, *b;
  };

  // Logits: q times a chunk of k, which lies as it does in memory where fragments take it so.
  struct Logits : Product<keys, columns> {
    static constexpr bool turned_b = sizeof(T) == 2;
    static constexpr int pitch_a = Head + pad, pitch_b = (turned_b ? columns : keys) + pad;
    using Operands = Pointers;
  };
  // A chunk of the result: weights times a chunk of v.
  struct Values : Product<columns, keys> {
    static constexpr int pitch_a = keys + pad, pitch_b = columns + pad;
    using Operands = Pointers;
  };

  using ReadQueries = Cover<Queries, columns, vector, block>;
  using ReadKeys = Cover<keys, columns, vector, block>;
  static constexpr int chunk_of_k = Logits::turned_b ? keys * Logits::pitch_b : columns * Logits::pitch_b;
  static constexpr int chunk_cells = chunk_of_k > keys* Values::pitch_b ? chunk_of_k : keys* Values::pitch_b;
  static constexpr int pitch_x = keys + 1, pitch_o = columns + 4;

  struct Lds {
    union {
      alignas(16) T q[Queries * Logits::pitch_a];
      alignas(16) float o[Queries * pitch_o]; // in the end, chunk by chunk
    };
    alignas(16) T chunk[2][chunk_cells];
    alignas(16) T weights[Queries * Values::pitch_a];
    float x[Queries * pitch_x];
    float factor[Queries];
  };
  static_assert(sizeof(Lds) <= most_lds_bytes, "LDS of one block");
};

// Rows of a head in memory, `rows` of them of `columns` elements, which are read as T; `vectors`: as many as
// 16 bytes of T hold may be read at once.
template <class Cells, class T = std::remove_const_t<Cells>> struct Rows {
  Cells* cells;
  int64_t row, column;
  int64_t rows;
  int columns;
  bool vectors;

  // `Vector` elements of a row, zeros outside.
  template <int Vector> __device__ __forceinline__ ChunkOf<T, Vector> read(int64_t at, int first) const {
    return read_at<Vector>(at < rows, at * row, first);
  }
  // Of a row that begins at `place`.
  template <int Vector>
  __device__ __forceinline__ ChunkOf<T, Vector> read_at(bool is_inside, int64_t place, int first) const {
    struct Elements {
      T at[Vector];
    };
    const Cells* const from = cells + place + first * column;
    if (vectors && first + Vector <= columns)
      return read_or_clear<T, Vector>(is_inside, from);
    Elements elements{};
    for (int i = 0; i < Vector; ++i)
      if (is_inside && first + i < columns)
        elements.at[i] = as_factor(from[i * column]);
    return bits_as<ChunkOf<T, Vector>>(elements);
  }
  static __device__ __forceinline__ T as_factor(const Cells& cell) {
    if constexpr (std::is_same_v<std::remove_const_t<Cells>, T>)
      return cell;
    else
      return Number<T>::narrow(Number<std::remove_const_t<Cells>>::widen(cell));
  }
  template <int Vector>
  __device__ __forceinline__ void write(int64_t at, int first, const float* values, float factor) const {
    struct Elements {
      T at[Vector];
    };
    Elements elements;
    for (int i = 0; i < Vector; ++i)
      elements.at[i] = Number<T>::narrow(values[i] * factor);
    Cells* const to = cells + at * row + first * column;
    if (at < rows && vectors && first + Vector <= columns) {
      write_chunk(to, bits_as<ChunkOf<T, Vector>>(elements));
      return;
    }
    for (int i = 0; i < Vector; ++i)
      if (at < rows && first + i < columns)
        to[i * column] = elements.at[i];
  }
};

// May threads move `vector` elements of every row at once? `bytes`: of each element.
struct Aligned {
  const bitgate_tensor* tensor;
  const void* cells;
  size_t bytes;
};
inline bool has_vectors(size_t vector, std::initializer_list<Aligned> tensors) {
  for (const Aligned& one : tensors) {
    if (one.tensor->strides[3] != 1 || reinterpret_cast<uintptr_t>(one.cells) % (vector * one.bytes) != 0)
      return false;
    for (int i = 0; i < 3; ++i)
      if (one.tensor->strides[i] % static_cast<int64_t>(vector) != 0)
        return false;
  }
  return true;
}

// Pages of a head: the table of the batch, and strides of k and v; page 0: there are none.
struct Pages {
  const int32_t* table;
  uint32_t page;
  int64_t k, v;
};

} // namespace attention

// What becomes of sums in LDS on their way to the result: one vector of neighbouring cells at a time.
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/implicit_gemm/tiling.hpp"

namespace bitgate::implicit_gemm {

// Neighbouring sums of a row, read 16 bytes at once where they are as many: rows begin at multiples of that.
template <int Count, class Sum> struct NearSums {
  Sum at[Count];

  BITGATE_HD __forceinline__ explicit NearSums(const Sum* from) {
    constexpr int side = Count * sizeof(Sum) % 16 == 0 ? 16 / sizeof(Sum) : 1;
    struct Side {
      Sum at[side];
    };
    for (int i = 0; i < Count; i += side) {
      const auto read = bits_as<Side>(read_chunk<side>(from + i));
      for (int j = 0; j < side; ++j)
        at[i + j] = read.at[j];
    }
  }
};

// Through the element-wise operation. `d` is the first cell's D element, `d_step` on the next one's.
template <class Element, int Count, class Sum>
BITGATE_HD __forceinline__ void finish_sums(const Sum (&sums)[Count], const Elementwise& op,
                                            const DCell<Element>& d, int64_t d_step,
                                            Element (&values)[Count]) {
  for (int i = 0; i < Count; ++i)
    values[i] = finish(sums[i], op, d + i * d_step);
}

// Sums that only pass do not ask for the operation one by one.
template <class Element, int Count, class Sum>
BITGATE_HD __forceinline__ void finish_vector(const Sum* sums, const Elementwise& op, const DCell<Element>& d,
                                              int64_t d_step, Element (&values)[Count]) {
  const NearSums<Count, Sum> near(sums);
  if (op.kind == BITGATE_PASS)
    finish_sums(near.at, Elementwise{BITGATE_PASS, 0, 1, 0}, d, d_step, values);
  else
    finish_sums(near.at, op, d, d_step, values);
}

// Rounded, for slices that add up.
template <class Element, int Count, class Sum>
BITGATE_HD __forceinline__ void round_vector(const Sum* sums, Element (&values)[Count]) {
  const NearSums<Count, Sum> near(sums);
  for (int i = 0; i < Count; ++i)
    values[i] = Number<Element>::narrow(near.at[i]);
}

template <class Element, int Count>
BITGATE_HD __forceinline__ void write_vector(Element* to, const Element (&values)[Count]) {
  write_chunk(to, bits_as<Chunk<sizeof values>>(values));
}

// Sums that only pass, where rows of the result lie `apart` evenly: the first `count` rows of the tile, the
// thread's first vector to `to`.
template <class Cover, int pitch, class Sum, class Element>
BITGATE_HD __forceinline__ void write_even_rows(const Sum* tile, int thread, int32_t count, int64_t apart,
                                                Element* to) {
  const Sum* sums = tile + lds_place<Cover, pitch>(thread, 0);
  for (int pass = 0; pass < Cover::passes; ++pass, sums += Cover::rows * pitch, to += Cover::rows * apart)
    if (Cover::row(thread, pass) < count) {
      Element values[Cover::vector];
      round_vector(sums, values);
      write_vector(to, values);
    }
}

} // namespace bitgate::implicit_gemm

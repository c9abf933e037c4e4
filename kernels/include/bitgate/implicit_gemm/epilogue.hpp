// What becomes of sums in LDS on their way to the result: one vector of neighbouring cells at a time.
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/implicit_gemm/tiling.hpp"

namespace bitgate::implicit_gemm {

// Through the element-wise operation. `d` is the first cell's D element, `d_step` on the next one's.
template <class Element, int Count, class Sum>
BITGATE_HD __forceinline__ void finish_vector(const Sum* sums, const Elementwise& op, const Element* d,
                                              int64_t d_step, Element (&values)[Count]) {
  for (int i = 0; i < Count; ++i)
    values[i] = finish(sums[i], op, d + i * d_step);
}

// Rounded, for slices that add up.
template <class Element, int Count, class Sum>
BITGATE_HD __forceinline__ void round_vector(const Sum* sums, Element (&values)[Count]) {
  for (int i = 0; i < Count; ++i)
    values[i] = Number<Element>::narrow(sums[i]);
}

template <class Element, int Count>
BITGATE_HD __forceinline__ void write_vector(Element* to, const Element (&values)[Count]) {
  write_chunk(to, bits_as<Chunk<sizeof values>>(values));
}

} // namespace bitgate::implicit_gemm

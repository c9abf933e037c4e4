// Types of an instance's tensors, and what an operand's element becomes before it is multiplied.
#pragma once

#include <type_traits>

#include "bitgate/product_predicates.hpp"

namespace naive_conv {

using bitgate::Elementwise;
using bitgate::Number;

// x, w and y in memory, and the factors: the narrower of x and w unless stated.
template <class X_, class W_ = X_, class Y_ = X_,
          class Compute_ = std::conditional_t<sizeof(X_) <= sizeof(W_), X_, W_>>
struct Types {
  using X = X_;
  using W = W_;
  using Y = Y_;
  using Compute = Compute_;
  using Accumulator = typename Number<Compute>::Accumulator;
  static constexpr bitgate::ProductDtypes codes{Number<X>::dtype, Number<W>::dtype, Number<Y>::dtype,
                                                Number<Compute>::dtype};
};

template <class T> inline constexpr bool is_float8 = std::is_base_of_v<bitgate::AnyFloat8, Number<T>>;

// What an element is multiplied as. Matrix instructions take f8 beside bf8, so these stay as they are.
template <class Element, class Compute>
using FactorOf = std::conditional_t<is_float8<Element> && is_float8<Compute>, Element, Compute>;

template <class T, class Element>
BITGATE_HD inline typename T::Accumulator factor(Element element, const Elementwise& op) {
  using Factor = FactorOf<Element, typename T::Compute>;
  using Epilogue = typename Number<Element>::Epilogue;
  const auto wide = Number<Element>::widen(element);
  if constexpr (std::is_same_v<Factor, Element>)
    if (op.kind == BITGATE_PASS)
      return wide;
  const Epilogue value = bitgate::apply(op, static_cast<Epilogue>(wide), Epilogue(0));
  return Number<Factor>::widen(Number<Factor>::narrow(value));
}

} // namespace naive_conv

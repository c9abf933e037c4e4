// Function objects, random numbers and complex numbers in thrust's words: the standard's where it has them.
#pragma once

#include <complex>
#include <functional>
#include <random>
#include <utility>

namespace thrust {

using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;
template <class A, class R> struct unary_function {
  using argument_type = A;
  using result_type = R;
};
template <class A, class B, class R> struct binary_function {
  using first_argument_type = A;
  using second_argument_type = B;
  using result_type = R;
};

#define BITGATE_FUNCTION(name, parameters, expression)                                                       \
  template <class T = void> struct name {                                                                    \
    constexpr T operator() parameters const {                                                                \
      return expression;                                                                                     \
    }                                                                                                        \
  };
BITGATE_FUNCTION(maximum, (const T& a, const T& b), a < b ? b : a)
BITGATE_FUNCTION(minimum, (const T& a, const T& b), b < a ? b : a)
BITGATE_FUNCTION(identity, (const T& a), a)
BITGATE_FUNCTION(square, (const T& a), a* a)
BITGATE_FUNCTION(project1st, (const T& a, const T&), a)
BITGATE_FUNCTION(project2nd, (const T&, const T& b), b)
#undef BITGATE_FUNCTION
template <> struct maximum<void> {
  template <class T> constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <> struct minimum<void> {
  template <class T> constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <> struct identity<void> {
  template <class T> constexpr const T& operator()(const T& a) const { return a; }
};
template <class F> auto not1(F function) {
  return [function](const auto& a) { return !function(a); };
}
template <class T> constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T> constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
using std::swap;

// _1 and _2 in expressions: each operator makes a function object of its operands.
namespace placeholders {
template <int N> struct Place {
  template <class... A> decltype(auto) operator()(A&&... a) const {
    return std::get<N>(std::forward_as_tuple(std::forward<A>(a)...));
  }
};
template <class F> struct Term {
  F function;
  template <class... A> decltype(auto) operator()(A&&... a) const { return function(std::forward<A>(a)...); }
};
template <class F> Term<F> term(F function) {
  return {function};
}
template <class X> auto part(const X& value) {
  return [value](auto&&...) { return value; };
}
template <class F> auto part(const Term<F>& of) {
  return of.function;
}
template <class T> struct IsTerm : std::false_type {};
template <class F> struct IsTerm<Term<F>> : std::true_type {};
#define BITGATE_PLACE(op)                                                                                    \
  template <class A, class B, class = std::enable_if_t<IsTerm<A>::value || IsTerm<B>::value>>                \
  auto operator op(const A& a, const B& b) {                                                                 \
    return term([x = part(a), y = part(b)](auto&&... of) { return x(of...) op y(of...); });                  \
  }
BITGATE_PLACE(+)
BITGATE_PLACE(-)
BITGATE_PLACE(*)
BITGATE_PLACE(/)
BITGATE_PLACE(%)
BITGATE_PLACE(<)
BITGATE_PLACE(>)
BITGATE_PLACE(<=)
BITGATE_PLACE(>=)
BITGATE_PLACE(==)
BITGATE_PLACE(!=)
BITGATE_PLACE(&&)
BITGATE_PLACE(||)
#undef BITGATE_PLACE
inline constexpr Term<Place<0>> _1{};
inline constexpr Term<Place<1>> _2{};
inline constexpr Term<Place<2>> _3{};
} // namespace placeholders

using std::abs;
using std::arg;
using std::complex;
using std::conj;
using std::exp;
using std::norm;
using std::polar;
using std::pow;
using std::sqrt;

using default_random_engine = std::minstd_rand;
using std::minstd_rand;
using std::minstd_rand0;
using std::normal_distribution;
using std::ranlux24;
using std::ranlux48;
using std::uniform_int_distribution;
using std::uniform_real_distribution;
namespace random {
using namespace thrust;
}

} // namespace thrust

// Iterators that compute what they give.
#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thrust {

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
struct use_default {};
struct null_type {};

namespace bitgate {
// The arithmetic of an iterator, from its place.
template <class Self, class Value, class Reference> struct Iterator {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Value;
  using difference_type = ptrdiff_t;
  using pointer = void;
  using reference = Reference;

  Reference operator*() const { return self().at(0); }
  Reference operator[](ptrdiff_t by) const { return self().at(by); }
  Self& operator++() { return self() += 1; }
  Self& operator--() { return self() += -1; }
  Self operator++(int) {
    Self before = self();
    self() += 1;
    return before;
  }
  Self operator--(int) {
    Self before = self();
    self() += -1;
    return before;
  }
  Self& operator+=(ptrdiff_t by) {
    self().move(by);
    return self();
  }
  Self& operator-=(ptrdiff_t by) { return self() += -by; }
  friend Self operator+(Self from, ptrdiff_t by) { return from += by; }
  friend Self operator+(ptrdiff_t by, Self from) { return from += by; }
  friend Self operator-(Self from, ptrdiff_t by) { return from += -by; }
  friend ptrdiff_t operator-(const Self& a, const Self& b) { return a.distance(b); }
  friend bool operator==(const Self& a, const Self& b) { return a.distance(b) == 0; }
  friend bool operator!=(const Self& a, const Self& b) { return a.distance(b) != 0; }
  friend bool operator<(const Self& a, const Self& b) { return a.distance(b) < 0; }
  friend bool operator>(const Self& a, const Self& b) { return a.distance(b) > 0; }
  friend bool operator<=(const Self& a, const Self& b) { return a.distance(b) <= 0; }
  friend bool operator>=(const Self& a, const Self& b) { return a.distance(b) >= 0; }

private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }
};
template <class I> using ValueOf = typename std::iterator_traits<I>::value_type;
template <class I> using ReferenceOf = typename std::iterator_traits<I>::reference;
} // namespace bitgate

template <class T, class = use_default, class = use_default, class = use_default>
class counting_iterator : public bitgate::Iterator<counting_iterator<T>, T, T> {
public:
  counting_iterator() = default;
  explicit counting_iterator(T first) : value(first) {}
  T at(ptrdiff_t by) const { return static_cast<T>(value + static_cast<T>(by)); }
  void move(ptrdiff_t by) { value = at(by); }
  ptrdiff_t distance(const counting_iterator& to) const {
    return static_cast<ptrdiff_t>(value) - static_cast<ptrdiff_t>(to.value);
  }

private:
  T value{};
};
template <class T> counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}

template <class T, class = use_default, class = use_default>
class constant_iterator : public bitgate::Iterator<constant_iterator<T>, T, T> {
public:
  constant_iterator() = default;
  explicit constant_iterator(T of, ptrdiff_t at_ = 0) : value(of), place(at_) {}
  T at(ptrdiff_t) const { return value; }
  void move(ptrdiff_t by) { place += by; }
  ptrdiff_t distance(const constant_iterator& to) const { return place - to.place; }

private:
  T value{};
  ptrdiff_t place = 0;
};
template <class T> constant_iterator<T> make_constant_iterator(T value, ptrdiff_t at = 0) {
  return constant_iterator<T>(value, at);
}

template <class F, class I, class = use_default, class = use_default>
class transform_iterator
    : public bitgate::Iterator<transform_iterator<F, I>,
                               std::decay_t<std::invoke_result_t<F, bitgate::ReferenceOf<I>>>,
                               std::invoke_result_t<F, bitgate::ReferenceOf<I>>> {
public:
  transform_iterator(I base, F function_) : from(base), function(function_) {}
  auto at(ptrdiff_t by) const -> std::invoke_result_t<F, bitgate::ReferenceOf<I>> {
    return function(*(from + by));
  }
  void move(ptrdiff_t by) { from += by; }
  ptrdiff_t distance(const transform_iterator& to) const { return from - to.from; }
  I base() const { return from; }
  transform_iterator(const transform_iterator&) = default;
  transform_iterator& operator=(const transform_iterator& other) { // a lambda cannot be assigned
    from = other.from;
    return *this;
  }

private:
  I from;
  F function;
};
template <class I, class F> transform_iterator<F, I> make_transform_iterator(I from, F function) {
  return {from, function};
}

template <class E, class I>
class permutation_iterator
    : public bitgate::Iterator<permutation_iterator<E, I>, bitgate::ValueOf<E>, bitgate::ReferenceOf<E>> {
public:
  permutation_iterator(E elements_, I indices_) : elements(elements_), indices(indices_) {}
  bitgate::ReferenceOf<E> at(ptrdiff_t by) const { return elements[static_cast<ptrdiff_t>(*(indices + by))]; }
  void move(ptrdiff_t by) { indices += by; }
  ptrdiff_t distance(const permutation_iterator& to) const { return indices - to.indices; }

private:
  E elements;
  I indices;
};
template <class E, class I> permutation_iterator<E, I> make_permutation_iterator(E elements, I indices) {
  return {elements, indices};
}

template <class Tuple> class zip_iterator;
template <class... I>
class zip_iterator<std::tuple<I...>>
    : public bitgate::Iterator<zip_iterator<std::tuple<I...>>, std::tuple<bitgate::ValueOf<I>...>,
                               std::tuple<bitgate::ReferenceOf<I>...>> {
public:
  zip_iterator() = default;
  zip_iterator(std::tuple<I...> of) : parts(of) {}
  template <class... From> zip_iterator(const std::tuple<From...>& of) : parts(of) {}
  std::tuple<bitgate::ReferenceOf<I>...> at(ptrdiff_t by) const {
    return std::apply(
        [by](const auto&... part) { return std::tuple<bitgate::ReferenceOf<I>...>(*(part + by)...); }, parts);
  }
  void move(ptrdiff_t by) {
    std::apply([by](auto&... part) { ((part += by), ...); }, parts);
  }
  ptrdiff_t distance(const zip_iterator& to) const { return std::get<0>(parts) - std::get<0>(to.parts); }
  const std::tuple<I...>& get_iterator_tuple() const { return parts; }

private:
  std::tuple<I...> parts;
};
template <class... I> zip_iterator<std::tuple<I...>> make_zip_iterator(std::tuple<I...> of) {
  return of;
}
template <class First, class... I>
zip_iterator<std::tuple<First, I...>> make_zip_iterator(First first, I... rest) {
  return std::tuple<First, I...>(first, rest...);
}

class discard_iterator_base {
public:
  template <class T> const discard_iterator_base& operator=(const T&) const { return *this; }
};
template <class = use_default>
class discard_iterator
    : public bitgate::Iterator<discard_iterator<>, discard_iterator_base, discard_iterator_base> {
public:
  explicit discard_iterator(ptrdiff_t at_ = 0) : place(at_) {}
  discard_iterator_base at(ptrdiff_t) const { return {}; }
  void move(ptrdiff_t by) { place += by; }
  ptrdiff_t distance(const discard_iterator& to) const { return place - to.place; }

private:
  ptrdiff_t place;
};
inline discard_iterator<> make_discard_iterator(ptrdiff_t at = 0) {
  return discard_iterator<>(at);
}
template <class I> std::reverse_iterator<I> make_reverse_iterator(I from) {
  return std::reverse_iterator<I>(from);
}
template <class I> ptrdiff_t distance(I first, I last) {
  return last - first;
}
template <class I, class N> void advance(I& iterator, N by) {
  iterator += static_cast<ptrdiff_t>(by);
}
template <class I, class N> I next(I iterator, N by) {
  return iterator + static_cast<ptrdiff_t>(by);
}

} // namespace thrust

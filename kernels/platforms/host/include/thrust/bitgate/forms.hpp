// The plain forms of thrust's algorithms: one element after the other.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "iterators.hpp"
#include "memory.hpp"

namespace thrust {
namespace bitgate {

// The plain forms; those with a policy wait for its stream first.
struct Algorithms {
  template <class I> static auto values(I first, I last) { return std::vector<ValueOf<I>>(first, last); }
  template <class V, class O> static O put(const V& from, O to) {
    for (const auto& value : from)
      *to = value, ++to;
    return to;
  }

  template <class I, class F> static I for_each(I first, I last, F f) {
    for (; first != last; ++first)
      f(*first);
    return first;
  }
  template <class I, class N, class F> static I for_each_n(I first, N n, F f) {
    return for_each(first, first + n, f);
  }
  template <class I, class T> static void fill(I first, I last, const T& value) {
    for (; first != last; ++first)
      *first = value;
  }
  template <class I, class N, class T> static I fill_n(I first, N n, const T& value) {
    return fill(first, first + n, value), first + n;
  }
  template <class I, class F> static void generate(I first, I last, F f) {
    for (; first != last; ++first)
      *first = f();
  }
  template <class I> static void sequence(I first, I last) {
    sequence(first, last, ValueOf<I>(0), ValueOf<I>(1));
  }
  template <class I, class T> static void sequence(I first, I last, T from) {
    sequence(first, last, from, T(1));
  }
  template <class I, class T> static void sequence(I first, I last, T from, T step) {
    for (; first != last; ++first, from = from + step)
      *first = from;
  }
  template <class I, class F> static void tabulate(I first, I last, F f) {
    for (ptrdiff_t at = 0; first != last; ++first, ++at)
      *first = f(at);
  }
  template <class I, class O> static O copy(I first, I last, O to) {
    for (; first != last; ++first, ++to)
      *to = *first;
    return to;
  }
  template <class I, class N, class O> static O copy_n(I first, N n, O to) {
    return copy(first, first + n, to);
  }
  template <class A, class B> static B swap_ranges(A first, A last, B other) {
    for (; first != last; ++first, ++other) {
      ValueOf<A> kept = *first;
      *first = *other, *other = kept;
    }
    return other;
  }
  template <class I> static void reverse(I first, I last) {
    auto all = values(first, last);
    std::reverse(all.begin(), all.end()), put(all, first);
  }

  template <class I, class O, class F> static O transform(I first, I last, O to, F f) {
    for (; first != last; ++first, ++to)
      *to = f(*first);
    return to;
  }
  template <class A, class B, class O, class F> static O transform(A first, A last, B other, O to, F f) {
    for (; first != last; ++first, ++other, ++to)
      *to = f(*first, *other);
    return to;
  }
  template <class I, class O, class F, class P> static O transform_if(I first, I last, O to, F f, P p) {
    for (; first != last; ++first, ++to)
      if (p(*first))
        *to = f(*first);
    return to;
  }
  template <class I, class S, class O, class F, class P>
  static O transform_if(I first, I last, S stencil, O to, F f, P p) {
    for (; first != last; ++first, ++stencil, ++to)
      if (p(*stencil))
        *to = f(*first);
    return to;
  }

  template <class I, class O, class P> static O copy_if(I first, I last, O to, P p) {
    return copy_if(first, last, first, to, p);
  }
  template <class I, class S, class O, class P> static O copy_if(I first, I last, S stencil, O to, P p) {
    for (; first != last; ++first, ++stencil)
      if (p(*stencil))
        *to = *first, ++to;
    return to;
  }
  template <class I, class P> static I remove_if(I first, I last, P p) {
    return remove_if(first, last, first, p);
  }
  template <class I, class S, class P> static I remove_if(I first, I last, S stencil, P p) {
    return copy_if(first, last, stencil, first, [&](const auto& value) { return !p(value); });
  }
  template <class I, class T> static I remove(I first, I last, const T& what) {
    return remove_if(first, last, [&](const auto& value) { return value == what; });
  }
  template <class I, class O, class P> static O remove_copy_if(I first, I last, O to, P p) {
    return copy_if(first, last, to, [&](const auto& value) { return !p(value); });
  }
  template <class I, class T> static void replace(I first, I last, const T& from, const T& to) {
    replace_if(first, last, [&](const auto& value) { return value == from; }, to);
  }
  template <class I, class P, class T> static void replace_if(I first, I last, P p, const T& to) {
    for (; first != last; ++first)
      if (p(*first))
        *first = to;
  }
  template <class I> static I unique(I first, I last) { return unique_copy(first, last, first); }
  template <class I, class P> static I unique(I first, I last, P same) {
    return unique_copy(first, last, first, same);
  }
  template <class I, class O> static O unique_copy(I first, I last, O to) {
    return unique_copy(first, last, to, std::equal_to<>());
  }
  template <class I, class O, class P> static O unique_copy(I first, I last, O to, P same) {
    auto all = values(first, last);
    return copy(all.begin(), std::unique(all.begin(), all.end(), same), to);
  }
  template <class K, class V> static std::pair<K, V> unique_by_key(K first, K last, V of) {
    return unique_by_key_copy(first, last, of, first, of);
  }
  template <class K, class V, class KO, class VO>
  static std::pair<KO, VO> unique_by_key_copy(K first, K last, V of, KO keys, VO out) {
    const auto all = values(first, last);
    for (size_t at = 0; at < all.size(); ++at, ++of)
      if (at == 0 || !(all[at] == all[at - 1])) {
        *keys = all[at], *out = *of;
        ++keys, ++out;
      }
    return {keys, out};
  }
  template <class I, class P> static I partition(I first, I last, P p) {
    return stable_partition(first, last, p);
  }
  template <class I, class P> static I stable_partition(I first, I last, P p) {
    auto all = values(first, last);
    const auto middle = std::stable_partition(all.begin(), all.end(), p);
    return put(all, first), first + (middle - all.begin());
  }
  template <class I, class A, class B, class P>
  static std::pair<A, B> partition_copy(I first, I last, A yes, B no, P p) {
    for (; first != last; ++first)
      if (p(*first))
        *yes = *first, ++yes;
      else
        *no = *first, ++no;
    return {yes, no};
  }

  template <class I> static ValueOf<I> reduce(I first, I last) { return reduce(first, last, ValueOf<I>(0)); }
  template <class I, class T> static T reduce(I first, I last, T from) {
    return reduce(first, last, from, std::plus<>());
  }
  template <class I, class T, class F> static T reduce(I first, I last, T from, F f) {
    for (; first != last; ++first)
      from = f(from, static_cast<T>(*first));
    return from;
  }
  template <class I, class U, class T, class F> static T transform_reduce(I first, I last, U u, T from, F f) {
    for (; first != last; ++first)
      from = f(from, static_cast<T>(u(*first)));
    return from;
  }
  template <class A, class B, class T> static T inner_product(A first, A last, B other, T from) {
    return inner_product(first, last, other, from, std::plus<>(), std::multiplies<>());
  }
  template <class A, class B, class T, class F, class G>
  static T inner_product(A first, A last, B other, T from, F f, G g) {
    for (; first != last; ++first, ++other)
      from = f(from, g(*first, *other));
    return from;
  }
  template <class K, class V, class KO, class VO>
  static std::pair<KO, VO> reduce_by_key(K first, K last, V of, KO keys, VO out) {
    return reduce_by_key(first, last, of, keys, out, std::equal_to<>(), std::plus<>());
  }
  template <class K, class V, class KO, class VO, class P>
  static std::pair<KO, VO> reduce_by_key(K first, K last, V of, KO keys, VO out, P same) {
    return reduce_by_key(first, last, of, keys, out, same, std::plus<>());
  }
  template <class K, class V, class KO, class VO, class P, class F>
  static std::pair<KO, VO> reduce_by_key(K first, K last, V of, KO keys, VO out, P same, F f) {
    while (first != last) {
      const ValueOf<K> key = *first;
      ValueOf<V> sum = *of;
      for (++first, ++of; first != last && same(key, *first); ++first, ++of)
        sum = f(sum, *of);
      *keys = key, *out = sum;
      ++keys, ++out;
    }
    return {keys, out};
  }

  template <class I, class O> static O inclusive_scan(I first, I last, O to) {
    return inclusive_scan(first, last, to, std::plus<>());
  }
  template <class I, class O, class F> static O inclusive_scan(I first, I last, O to, F f) {
    return transform_inclusive_scan(first, last, to, [](const auto& value) { return value; }, f);
  }
  template <class I, class O, class U, class F>
  static O transform_inclusive_scan(I first, I last, O to, U u, F f) {
    if (first == last)
      return to;
    auto sum = static_cast<std::decay_t<decltype(u(*first))>>(u(*first));
    for (*to = sum, ++to, ++first; first != last; ++first, ++to)
      *to = sum = f(sum, u(*first));
    return to;
  }
  template <class I, class O> static O exclusive_scan(I first, I last, O to) {
    return exclusive_scan(first, last, to, ValueOf<I>(0));
  }
  template <class I, class O, class T> static O exclusive_scan(I first, I last, O to, T from) {
    return exclusive_scan(first, last, to, from, std::plus<>());
  }
  template <class I, class O, class T, class F> static O exclusive_scan(I first, I last, O to, T from, F f) {
    return transform_exclusive_scan(first, last, to, [](const auto& value) { return value; }, from, f);
  }
  template <class I, class O, class U, class T, class F>
  static O transform_exclusive_scan(I first, I last, O to, U u, T from, F f) {
    for (; first != last; ++first, ++to) {
      const T next = f(from, u(*first));
      *to = from, from = next;
    }
    return to;
  }
  template <class K, class V, class O> static O inclusive_scan_by_key(K first, K last, V of, O to) {
    return scan_by_key(first, last, of, to, ValueOf<V>(0), true);
  }
  template <class K, class V, class O> static O exclusive_scan_by_key(K first, K last, V of, O to) {
    return scan_by_key(first, last, of, to, ValueOf<V>(0), false);
  }
  template <class K, class V, class O, class T>
  static O exclusive_scan_by_key(K first, K last, V of, O to, T from) {
    return scan_by_key(first, last, of, to, from, false);
  }
  template <class K, class V, class O, class T>
  static O scan_by_key(K first, K last, V of, O to, T from, bool isInclusive) {
    const auto keys = values(first, last);
    T sum = from;
    for (size_t at = 0; at < keys.size(); ++at, ++of, ++to) {
      if (at && !(keys[at] == keys[at - 1]))
        sum = from;
      const T next = sum + *of;
      *to = isInclusive ? next : sum, sum = next;
    }
    return to;
  }
  template <class I, class O> static O adjacent_difference(I first, I last, O to) {
    return adjacent_difference(first, last, to, std::minus<>());
  }
  template <class I, class O, class F> static O adjacent_difference(I first, I last, O to, F f) {
    const auto all = values(first, last);
    for (size_t at = 0; at < all.size(); ++at, ++to)
      *to = at ? f(all[at], all[at - 1]) : all[at];
    return to;
  }

  template <class I, class T> static ptrdiff_t count(I first, I last, const T& what) {
    return count_if(first, last, [&](const auto& value) { return value == what; });
  }
  template <class I, class P> static ptrdiff_t count_if(I first, I last, P p) {
    ptrdiff_t found = 0;
    for (; first != last; ++first)
      found += p(*first) ? 1 : 0;
    return found;
  }
  template <class I, class T> static I find(I first, I last, const T& what) {
    return find_if(first, last, [&](const auto& value) { return value == what; });
  }
  template <class I, class P> static I find_if(I first, I last, P p) {
    while (first != last && !p(*first))
      ++first;
    return first;
  }
  template <class I, class P> static I find_if_not(I first, I last, P p) {
    return find_if(first, last, [&](const auto& value) { return !p(value); });
  }
  template <class I, class P> static bool any_of(I first, I last, P p) {
    return find_if(first, last, p) != last;
  }
  template <class I, class P> static bool all_of(I first, I last, P p) {
    return find_if_not(first, last, p) == last;
  }
  template <class I, class P> static bool none_of(I first, I last, P p) { return !any_of(first, last, p); }
  template <class A, class B> static bool equal(A first, A last, B other) {
    return mismatch(first, last, other).first == last;
  }
  template <class A, class B> static std::pair<A, B> mismatch(A first, A last, B other) {
    for (; first != last && *first == *other; ++first)
      ++other;
    return {first, other};
  }
  template <class I> static I min_element(I first, I last) { return min_element(first, last, std::less<>()); }
  template <class I, class C> static I min_element(I first, I last, C less) {
    I best = first;
    for (; first != last; ++first)
      if (less(*first, *best))
        best = first;
    return best;
  }
  template <class I> static I max_element(I first, I last) { return max_element(first, last, std::less<>()); }
  template <class I, class C> static I max_element(I first, I last, C less) {
    return min_element(first, last, [&](const auto& a, const auto& b) { return less(b, a); });
  }
  template <class I> static std::pair<I, I> minmax_element(I first, I last) {
    return {min_element(first, last), max_element(first, last)};
  }

  template <class M, class I, class O> static O gather(M first, M last, I from, O to) {
    for (; first != last; ++first, ++to)
      *to = from[static_cast<ptrdiff_t>(*first)];
    return to;
  }
  template <class I, class M, class O> static void scatter(I first, I last, M map, O to) {
    for (; first != last; ++first, ++map)
      to[static_cast<ptrdiff_t>(*map)] = *first;
  }
  template <class I, class M, class S, class O>
  static void scatter_if(I first, I last, M map, S stencil, O to) {
    for (; first != last; ++first, ++map, ++stencil)
      if (*stencil)
        to[static_cast<ptrdiff_t>(*map)] = *first;
  }

  template <class I> static void sort(I first, I last) { stable_sort(first, last, std::less<>()); }
  template <class I, class C> static void sort(I first, I last, C less) { stable_sort(first, last, less); }
  template <class I> static void stable_sort(I first, I last) { stable_sort(first, last, std::less<>()); }
  template <class I, class C> static void stable_sort(I first, I last, C less) {
    auto all = values(first, last);
    std::stable_sort(all.begin(), all.end(), less), put(all, first);
  }
  template <class K, class V> static void sort_by_key(K first, K last, V of) {
    stable_sort_by_key(first, last, of, std::less<>());
  }
  template <class K, class V, class C> static void sort_by_key(K first, K last, V of, C less) {
    stable_sort_by_key(first, last, of, less);
  }
  template <class K, class V> static void stable_sort_by_key(K first, K last, V of) {
    stable_sort_by_key(first, last, of, std::less<>());
  }
  template <class K, class V, class C> static void stable_sort_by_key(K first, K last, V of, C less) {
    const auto keys = values(first, last);
    const auto carried = values(of, of + (last - first));
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return less(keys[a], keys[b]); });
    for (const size_t at : order) {
      *first = keys[at], *of = carried[at];
      ++first, ++of;
    }
  }
  template <class I> static bool is_sorted(I first, I last) { return is_sorted(first, last, std::less<>()); }
  template <class I, class C> static bool is_sorted(I first, I last, C less) {
    const auto all = values(first, last);
    return std::is_sorted(all.begin(), all.end(), less);
  }
  template <class A, class B, class O> static O merge(A first, A last, B other, B end, O to) {
    return merge(first, last, other, end, to, std::less<>());
  }
  template <class A, class B, class O, class C>
  static O merge(A first, A last, B other, B end, O to, C less) {
    const auto a = values(first, last);
    const auto b = values(other, end);
    std::vector<ValueOf<A>> both(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin(), less);
    return put(both, to);
  }
#define BITGATE_SETS(name)                                                                                   \
  template <class A, class B, class O> static O name(A first, A last, B other, B end, O to) {                \
    const auto a = values(first, last);                                                                      \
    const auto b = values(other, end);                                                                       \
    std::vector<ValueOf<A>> found;                                                                           \
    std::name(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(found));                            \
    return put(found, to);                                                                                   \
  }
  BITGATE_SETS(set_union)
  BITGATE_SETS(set_intersection)
  BITGATE_SETS(set_difference)
#undef BITGATE_SETS
#define BITGATE_BOUND(name, after)                                                                           \
  template <class I, class T> static auto name(I first, I last, const T& value) {                            \
    return first + bound(first, last, value, after);                                                         \
  }                                                                                                          \
  template <class I, class V, class O> static O name(I first, I last, V from, V end, O to) {                 \
    for (; from != end; ++from, ++to)                                                                        \
      *to = static_cast<ValueOf<O>>(bound(first, last, *from, after));                                       \
    return to;                                                                                               \
  }
  template <class I, class T> static ptrdiff_t bound(I first, I last, const T& value, bool after) {
    const auto all = values(first, last);
    return after ? std::upper_bound(all.begin(), all.end(), value) - all.begin()
                 : std::lower_bound(all.begin(), all.end(), value) - all.begin();
  }
  BITGATE_BOUND(lower_bound, false)
  BITGATE_BOUND(upper_bound, true)
#undef BITGATE_BOUND
  template <class I, class T> static bool binary_search(I first, I last, const T& value) {
    const auto all = values(first, last);
    return std::binary_search(all.begin(), all.end(), value);
  }
};

} // namespace bitgate

} // namespace thrust

// Reductions and scans by a group of lanes, and copies by any group.
#pragma once

#include "hip/host_detail/groups.hpp"

namespace cooperative_groups {

#define BITGATE_OPERATION(name, expression)                                                                  \
  template <class T = void> struct name {                                                                    \
    template <class A, class B> auto operator()(const A& a, const B& b) const {                              \
      return expression;                                                                                     \
    }                                                                                                        \
  };
BITGATE_OPERATION(plus, a + b)
BITGATE_OPERATION(less, b < a ? b : a)
BITGATE_OPERATION(greater, a < b ? b : a)
BITGATE_OPERATION(bit_and, a& b)
BITGATE_OPERATION(bit_or, a | b)
BITGATE_OPERATION(bit_xor, a ^ b)
#undef BITGATE_OPERATION

namespace detail {
// From the first rank on, up to `last`.
template <class Group, class T, class Op>
T folded(const Group& group, const Values<T>& values, unsigned last, const Op& op) {
  T result = values[group.lane_of(0)];
  for (unsigned rank = 1; rank <= last; ++rank)
    result = static_cast<T>(op(result, values[group.lane_of(rank)]));
  return result;
}
} // namespace detail

template <class Group, class T, class Op>
T reduce(const Group& group, T value, const Op& op, unsigned line = __builtin_LINE()) {
  static_assert(std::is_base_of_v<lane_group, Group>, "reduce is for a tile or coalesced threads");
  const auto values = detail::gathered(value, line);
  const auto count = static_cast<unsigned>(std::popcount(group.members()));
  return detail::folded(group, values, count - 1, op);
}
template <class Group, class T, class Op>
T inclusive_scan(const Group& group, T value, const Op& op, unsigned line = __builtin_LINE()) {
  const auto values = detail::gathered(value, line);
  return detail::folded(group, values, group.rank_of(bitgate_host::lane_id()), op);
}
template <class Group, class T>
T inclusive_scan(const Group& group, T value, unsigned line = __builtin_LINE()) {
  return inclusive_scan(group, value, plus<T>(), line);
}
template <class Group, class T, class Op>
T exclusive_scan(const Group& group, T value, const Op& op, unsigned line = __builtin_LINE()) {
  const auto values = detail::gathered(value, line);
  const unsigned rank = group.rank_of(bitgate_host::lane_id());
  return rank ? detail::folded(group, values, rank - 1, op) : T{};
}
template <class Group, class T>
T exclusive_scan(const Group& group, T value, unsigned line = __builtin_LINE()) {
  return exclusive_scan(group, value, plus<T>(), line);
}

// Each thread copies its share, at once.
template <class Group> void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  for (size_t at = group.thread_rank(); at < bytes; at += group.size())
    static_cast<unsigned char*>(to)[at] = static_cast<const unsigned char*>(from)[at];
}
template <class Group, class T> void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  for (size_t at = group.thread_rank(); at < bytes / sizeof(T); at += group.size())
    to[at] = from[at];
}
template <class Group> void wait(const Group& group, unsigned line = __builtin_LINE()) {
  sync(group, line);
}

template <class Group, class Work> void invoke_one(const Group& group, const Work& work) {
  if (group.thread_rank() == 0)
    work();
}

} // namespace cooperative_groups

// Thrust's algorithms, with a policy and without: on the host, after the work that they follow.
#pragma once

#include <type_traits>
#include <utility>

#include "forms.hpp"

namespace thrust {

#define BITGATE_ALGORITHM(name)                                                                              \
  template <class First, class... Rest> decltype(auto) name(First&& first, Rest&&... rest) {                 \
    if constexpr (std::is_same_v<std::decay_t<First>, execution_policy>) {                                   \
      first.wait();                                                                                          \
      return bitgate::Algorithms::name(std::forward<Rest>(rest)...);                                         \
    } else {                                                                                                 \
      bitgate::wait();                                                                                       \
      return bitgate::Algorithms::name(std::forward<First>(first), std::forward<Rest>(rest)...);             \
    }                                                                                                        \
  }
BITGATE_ALGORITHM(for_each)
BITGATE_ALGORITHM(for_each_n)
BITGATE_ALGORITHM(fill)
BITGATE_ALGORITHM(fill_n)
BITGATE_ALGORITHM(generate)
BITGATE_ALGORITHM(sequence)
BITGATE_ALGORITHM(tabulate)
BITGATE_ALGORITHM(copy)
BITGATE_ALGORITHM(copy_n)
BITGATE_ALGORITHM(swap_ranges)
BITGATE_ALGORITHM(reverse)
BITGATE_ALGORITHM(transform)
BITGATE_ALGORITHM(transform_if)
BITGATE_ALGORITHM(copy_if)
BITGATE_ALGORITHM(remove)
BITGATE_ALGORITHM(remove_if)
BITGATE_ALGORITHM(remove_copy_if)
BITGATE_ALGORITHM(replace)
BITGATE_ALGORITHM(replace_if)
BITGATE_ALGORITHM(unique)
BITGATE_ALGORITHM(unique_copy)
BITGATE_ALGORITHM(unique_by_key)
BITGATE_ALGORITHM(unique_by_key_copy)
BITGATE_ALGORITHM(partition)
BITGATE_ALGORITHM(stable_partition)
BITGATE_ALGORITHM(partition_copy)
BITGATE_ALGORITHM(reduce)
BITGATE_ALGORITHM(transform_reduce)
BITGATE_ALGORITHM(inner_product)
BITGATE_ALGORITHM(reduce_by_key)
BITGATE_ALGORITHM(inclusive_scan)
BITGATE_ALGORITHM(exclusive_scan)
BITGATE_ALGORITHM(transform_inclusive_scan)
BITGATE_ALGORITHM(transform_exclusive_scan)
BITGATE_ALGORITHM(inclusive_scan_by_key)
BITGATE_ALGORITHM(exclusive_scan_by_key)
BITGATE_ALGORITHM(adjacent_difference)
BITGATE_ALGORITHM(count)
BITGATE_ALGORITHM(count_if)
BITGATE_ALGORITHM(find)
BITGATE_ALGORITHM(find_if)
BITGATE_ALGORITHM(find_if_not)
BITGATE_ALGORITHM(any_of)
BITGATE_ALGORITHM(all_of)
BITGATE_ALGORITHM(none_of)
BITGATE_ALGORITHM(equal)
BITGATE_ALGORITHM(mismatch)
BITGATE_ALGORITHM(min_element)
BITGATE_ALGORITHM(max_element)
BITGATE_ALGORITHM(minmax_element)
BITGATE_ALGORITHM(gather)
BITGATE_ALGORITHM(scatter)
BITGATE_ALGORITHM(scatter_if)
BITGATE_ALGORITHM(sort)
BITGATE_ALGORITHM(stable_sort)
BITGATE_ALGORITHM(sort_by_key)
BITGATE_ALGORITHM(stable_sort_by_key)
BITGATE_ALGORITHM(is_sorted)
BITGATE_ALGORITHM(merge)
BITGATE_ALGORITHM(set_union)
BITGATE_ALGORITHM(set_intersection)
BITGATE_ALGORITHM(set_difference)
BITGATE_ALGORITHM(lower_bound)
BITGATE_ALGORITHM(upper_bound)
BITGATE_ALGORITHM(binary_search)
#undef BITGATE_ALGORITHM

} // namespace thrust

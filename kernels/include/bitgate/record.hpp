// What a family writes into the DispatchRecord beside its fields: facts by name, and the parts of a problem.
#pragma once

#include <cstdint>
#include <cstring>

#include "bitgate/abi.h"

namespace bitgate {
namespace detail {

// The fact of that name, or the next free one, or null where the caller's array is full; the count goes on
// either way.
inline bitgate_value* fact_named(bitgate_dispatch_record& record, const char* name) noexcept {
  const uint32_t stored = record.facts == nullptr                    ? 0
                          : record.fact_count < record.fact_capacity ? record.fact_count
                                                                     : record.fact_capacity;
  for (uint32_t i = 0; i < stored; ++i)
    if (std::strcmp(record.facts[i].name, name) == 0)
      return &record.facts[i];
  const uint32_t index = record.fact_count++;
  if (record.facts == nullptr || index >= record.fact_capacity)
    return nullptr;
  record.facts[index] = {};
  record.facts[index].name = name;
  return &record.facts[index];
}

} // namespace detail

// States a fact; one of the same name is replaced. Names and texts must live as long as the library.
inline void note(bitgate_dispatch_record& record, const char* name, int64_t number) noexcept {
  if (bitgate_value* fact = detail::fact_named(record, name)) {
    fact->kind = BITGATE_INTEGER;
    fact->integer = number;
  }
}
inline void note(bitgate_dispatch_record& record, const char* name, const char* text) noexcept {
  if (bitgate_value* fact = detail::fact_named(record, name)) {
    fact->kind = BITGATE_TEXT;
    fact->text = text;
  }
}

// Appends a part, which is a struct of nothing but int64_t that names its columns; past the capacity only the
// count goes on.
template <class Part> void add_part(bitgate_dispatch_record& record, const Part& part) noexcept {
  constexpr size_t width = sizeof(Part) / sizeof(int64_t);
  record.part_columns = Part::columns;
  const size_t begin = record.part_count++ * width;
  if (record.parts != nullptr && begin + width <= record.part_capacity)
    std::memcpy(record.parts + begin, &part, sizeof part);
}

} // namespace bitgate

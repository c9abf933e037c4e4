// A value's bits seen as another type of the same size.
#pragma once

#include "bitgate/platform.hpp"

namespace bitgate {

template <class To, class From> BITGATE_HD inline To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &value, sizeof to);
  return to;
}

} // namespace bitgate

// Two halfwords or four bytes of a word at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace bitgate_host {
// Each part of `a` with that of `b` by `op`, which gets them as int.
template <class Part, class Op> unsigned partwise(unsigned a, unsigned b, Op op) {
  constexpr int bits = 8 * sizeof(Part);
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += bits)
    result |= (static_cast<unsigned>(op(static_cast<Part>(a >> shift), static_cast<Part>(b >> shift))) &
               ((1u << bits) - 1))
              << shift;
  return result;
}
} // namespace bitgate_host

#define BITGATE_PARTS(name, Half, Byte, expression)                                                          \
  inline unsigned name##2(unsigned a, unsigned b) {                                                          \
    [[maybe_unused]] static constexpr int least = std::numeric_limits<Half>::min();                          \
    [[maybe_unused]] static constexpr int most = std::numeric_limits<Half>::max();                           \
    return bitgate_host::partwise<Half>(a, b, [](int x, int y) { return expression; });                      \
  }                                                                                                          \
  inline unsigned name##4(unsigned a, unsigned b) {                                                          \
    [[maybe_unused]] static constexpr int least = std::numeric_limits<Byte>::min();                          \
    [[maybe_unused]] static constexpr int most = std::numeric_limits<Byte>::max();                           \
    return bitgate_host::partwise<Byte>(a, b, [](int x, int y) { return expression; });                      \
  }
#define BITGATE_UNSIGNED_PARTS(name, expression) BITGATE_PARTS(name, uint16_t, uint8_t, expression)
#define BITGATE_SIGNED_PARTS(name, expression) BITGATE_PARTS(name, int16_t, int8_t, expression)
BITGATE_UNSIGNED_PARTS(__vadd, x + y)
BITGATE_UNSIGNED_PARTS(__vsub, x - y)
BITGATE_UNSIGNED_PARTS(__vaddus, std::min(x + y, most))
BITGATE_UNSIGNED_PARTS(__vsubus, std::max(x - y, least))
BITGATE_SIGNED_PARTS(__vaddss, std::clamp(x + y, least, most))
BITGATE_SIGNED_PARTS(__vsubss, std::clamp(x - y, least, most))
BITGATE_UNSIGNED_PARTS(__vavgu, (x + y + 1) / 2)
BITGATE_UNSIGNED_PARTS(__vhaddu, (x + y) / 2)
BITGATE_UNSIGNED_PARTS(__vmaxu, std::max(x, y))
BITGATE_UNSIGNED_PARTS(__vminu, std::min(x, y))
BITGATE_SIGNED_PARTS(__vmaxs, std::max(x, y))
BITGATE_SIGNED_PARTS(__vmins, std::min(x, y))
BITGATE_UNSIGNED_PARTS(__vabsdiffu, x < y ? y - x : x - y)
BITGATE_SIGNED_PARTS(__vabsdiffs, x < y ? y - x : x - y)
BITGATE_UNSIGNED_PARTS(__vcmpeq, x == y ? -1 : 0)
BITGATE_UNSIGNED_PARTS(__vcmpne, x != y ? -1 : 0)
BITGATE_UNSIGNED_PARTS(__vcmpgtu, x > y ? -1 : 0)
BITGATE_UNSIGNED_PARTS(__vcmpgeu, x >= y ? -1 : 0)
BITGATE_UNSIGNED_PARTS(__vcmpltu, x < y ? -1 : 0)
BITGATE_UNSIGNED_PARTS(__vcmpleu, x <= y ? -1 : 0)
BITGATE_SIGNED_PARTS(__vcmpgts, x > y ? -1 : 0)
BITGATE_SIGNED_PARTS(__vcmplts, x < y ? -1 : 0)
#undef BITGATE_PARTS
#undef BITGATE_UNSIGNED_PARTS
#undef BITGATE_SIGNED_PARTS

inline unsigned __vsadu2(unsigned a, unsigned b) {
  const unsigned apart = __vabsdiffu2(a, b);
  return (apart & 0xFFFF) + (apart >> 16);
}
inline unsigned __vsadu4(unsigned a, unsigned b) {
  const unsigned pairs = __vabsdiffu4(a, b), two = (pairs & 0x00FF00FF) + (pairs >> 8 & 0x00FF00FF);
  return (two & 0xFFFF) + (two >> 16);
}

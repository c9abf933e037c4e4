// One axis of a convolution as an implicit GEMM counts it, in 32 bits, and what an instance may take for
// granted of all axes.
//
// On each axis, output o meets input  i = o * stride + f * dilation - left_pad  at tap f; outside 0 <= i < I
// the input is zero.
#pragma once

#include "bitgate/conv_shape.hpp"

namespace bitgate::implicit_gemm {

struct Axis {
  int32_t input, filter, output;
  int32_t stride, dilation, left_pad;
};

inline Axis axis_of(const ConvShape& shape, int axis) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  return {narrow(shape.input[axis]),  narrow(shape.filter[axis]),   narrow(shape.output[axis]),
          narrow(shape.stride[axis]), narrow(shape.dilation[axis]), narrow(shape.left_pad[axis])};
}

// 0 <= i < length in one comparison.
BITGATE_HD __forceinline__ bool is_within(int32_t i, int32_t length) {
  return static_cast<uint32_t>(i) < static_cast<uint32_t>(length);
}

// Does output cell o read input cell o, and nothing else?
inline bool is_identity(const Axis& axis) {
  return axis.filter == 1 && axis.stride == 1 && axis.input == axis.output;
}

// What an instance may take for granted. A wrong assertion gives wrong bits, so check_specialisation refuses
// it.
enum class Specialisation {
  general,                   // nothing
  filter_1x1_pad_0,          // one tap, and every window lies inside: no bounds to test
  filter_1x1_stride_1_pad_0, // also, output cell o reads input cell o
  odd_c, // nothing; taps and channels make one reduction, so that few channels do not leave tiles mostly
         // empty
};

constexpr bool is_pointwise(Specialisation special) {
  return special == Specialisation::filter_1x1_pad_0 || special == Specialisation::filter_1x1_stride_1_pad_0;
}

// What reports call the path of each.
inline const char* path_name(Specialisation special) {
  static constexpr const char* names[] = {"default", "filter1x1_pad0", "filter1x1_stride1_pad0", "odd_c"};
  return names[static_cast<int>(special)];
}

// What an instance's name says of it.
inline const char* name_part(Specialisation special) {
  static constexpr const char* parts[] = {"", "_1x1p0", "_1x1s1p0", "_odd_c"};
  return parts[static_cast<int>(special)];
}

// The input coordinate that an output position meets at tap 0; it may lie in the padding.
template <Specialisation special>
BITGATE_HD __forceinline__ int32_t input_at(const Axis& axis, int32_t position) {
  if constexpr (special == Specialisation::filter_1x1_stride_1_pad_0)
    return position;
  else if constexpr (special == Specialisation::filter_1x1_pad_0)
    return position * axis.stride;
  else
    return position * axis.stride - axis.left_pad;
}

} // namespace bitgate::implicit_gemm

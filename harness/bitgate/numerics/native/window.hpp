// How a convolution moves over an image: always three axes, the absent ones of length 1.
#pragma once

#include "tensor.hpp"

namespace bitgate::native {

// Mirrored by WindowView in native.py. Per axis: image cell = position * stride + tap * dilation - pad.
struct Window {
  int64_t positions[3];
  int64_t filter[3];
  int64_t stride[3];
  int64_t dilation[3];
  int64_t pad[3];

  int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  int64_t cell(int axis, int64_t position, int64_t tap) const {
    return position * stride[axis] + tap * dilation[axis] - pad[axis];
  }
};

// The part of a tensor's groups and images (for weights: groups and k) that one call works on.
struct Part {
  int64_t group_begin, group_end;
  int64_t image_begin, image_end;

  int64_t groups() const { return group_end - group_begin; }
  int64_t images() const { return image_end - image_begin; }
};

// A tensor (G, N, C, spatial...) with its spatial axes as three.
struct Image {
  std::byte* data;
  int64_t channels;
  int64_t size[3];
  int64_t group, image, channel; // strides
  int64_t step[3];

  explicit Image(const Tensor& t)
      : data(t.data), channels(t.lengths[2]), size{1, 1, 1}, group(t.strides[0]), image(t.strides[1]),
        channel(t.strides[2]), step{0, 0, 0} {
    const int missing = max_rank - t.rank;
    for (int axis = missing; axis < 3; ++axis) {
      size[axis] = t.lengths[3 + axis - missing];
      step[axis] = t.strides[3 + axis - missing];
    }
  }
};

} // namespace bitgate::native

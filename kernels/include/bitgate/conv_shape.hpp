// A convolution problem, checked and brought to one form: three spatial axes (z, y, x), missing
// ones of length 1. Trivially copyable, so a kernel can take it as an argument.
//
// Index relation of all passes, per axis: input = output * stride + filter * dilation - left_pad.
#pragma once

#include "bitgate/conv.hpp"

namespace bitgate {

struct ConvShape {
  int64_t groups, images, k, c; // k and c per group
  int64_t input[axes], filter[axes], output[axes];
  int64_t stride[axes], dilation[axes], left_pad[axes];
  Layout x, w, y;
};

BITGATE_HD inline int64_t product(const int64_t (&lengths)[axes]) noexcept {
  return lengths[0] * lengths[1] * lengths[2];
}

namespace detail {

// The three outer lengths and then the spatial ones of `tensor` are as the problem says.
inline int32_t check_lengths(const bitgate_tensor& tensor, const char* name, int ndim,
                             const int64_t (&outer)[3], const int64_t (&spatial)[axes],
                             bitgate_reason* reason) noexcept {
  if (tensor.rank != ndim + 3)
    BITGATE_BAD(reason, "problem", "%s has rank %d, a %dD convolution needs %d", name, tensor.rank, ndim,
                ndim + 3);
  for (int i = 0; i < tensor.rank; ++i) {
    const int64_t expected = i < 3 ? outer[i] : spatial[axes - ndim + i - 3];
    if (tensor.lengths[i] != expected || expected < 1)
      BITGATE_BAD(reason, "problem", "%s has length %lld in dimension %d, the other tensors say %lld", name,
                  static_cast<long long>(tensor.lengths[i]), i, static_cast<long long>(expected));
    if (tensor.strides[i] < 0)
      BITGATE_BAD(reason, "problem", "%s has the negative stride %lld in dimension %d", name,
                  static_cast<long long>(tensor.strides[i]), i);
  }
  return BITGATE_OK;
}

} // namespace detail

// Reads `problem` into `shape`. BITGATE_BAD_ARGUMENT when its parts contradict each other.
inline int32_t read_conv(const ConvProblem& problem, ConvShape& shape, bitgate_reason* reason) noexcept {
  const int ndim = problem.ndim;
  if (problem.in.rank != ndim + 3 || problem.wei.rank != ndim + 3)
    BITGATE_BAD(reason, "problem", "in has rank %d and wei %d, a %dD convolution needs %d", problem.in.rank,
                problem.wei.rank, ndim, ndim + 3);
  shape = {};
  shape.groups = problem.in.lengths[0];
  shape.images = problem.in.lengths[1];
  shape.c = problem.in.lengths[2];
  shape.k = problem.wei.lengths[1];
  for (int axis = 0; axis < axes; ++axis) {
    const int i = axis - (axes - ndim);
    const bool present = i >= 0;
    shape.input[axis] = present ? problem.in.lengths[3 + i] : 1;
    shape.filter[axis] = present ? problem.wei.lengths[3 + i] : 1;
    shape.stride[axis] = present ? problem.stride[i] : 1;
    shape.dilation[axis] = present ? problem.dilation[i] : 1;
    shape.left_pad[axis] = present ? problem.left_pad[i] : 0;
    if (shape.stride[axis] < 1 || shape.dilation[axis] < 1 || shape.left_pad[axis] < 0)
      BITGATE_BAD(reason, "problem",
                  "axis %d: stride %lld, dilation %lld and left pad %lld must be 1, 1 and 0 or more", i,
                  static_cast<long long>(shape.stride[axis]), static_cast<long long>(shape.dilation[axis]),
                  static_cast<long long>(shape.left_pad[axis]));
    const int64_t window = (shape.filter[axis] - 1) * shape.dilation[axis] + 1;
    const int64_t padded = shape.input[axis] + shape.left_pad[axis] + (present ? problem.right_pad[i] : 0);
    if (padded < window)
      BITGATE_BAD(reason, "problem", "axis %d: the filter covers %lld cells, the padded input has %lld", i,
                  static_cast<long long>(window), static_cast<long long>(padded));
    shape.output[axis] = (padded - window) / shape.stride[axis] + 1;
  }
  const int64_t x[3] = {shape.groups, shape.images, shape.c}, w[3] = {shape.groups, shape.k, shape.c},
                y[3] = {shape.groups, shape.images, shape.k};
  int32_t status = detail::check_lengths(problem.in, "in", ndim, x, shape.input, reason);
  if (status == BITGATE_OK)
    status = detail::check_lengths(problem.wei, "wei", ndim, w, shape.filter, reason);
  if (status == BITGATE_OK)
    status = detail::check_lengths(problem.out, "out", ndim, y, shape.output, reason);
  if (status != BITGATE_OK)
    return status;
  shape.x = layout_of(problem.in, ndim);
  shape.w = layout_of(problem.wei, ndim);
  shape.y = layout_of(problem.out, ndim);
  return BITGATE_OK;
}

} // namespace bitgate

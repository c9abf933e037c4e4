// A strided tensor as Python describes it, and walks over its cells in memory order.
#pragma once

#include "parallel.hpp"

#include <cstddef>
#include <cstdint>

#define BITGATE_NATIVE extern "C" __attribute__((visibility("default")))

namespace bitgate::native {

inline constexpr int max_rank = 6;

// Mirrored by TensorView in native.py.
struct Tensor {
  std::byte* data;
  int32_t dtype; // enum bitgate_dtype
  int32_t element_bytes;
  int32_t rank;
  int32_t reserved;
  int64_t lengths[max_rank];
  int64_t strides[max_rank]; // in elements
};

// One axis of a walk: how far a step goes in the tensor, in a second tensor of the same lengths, and in
// logical order.
struct Axis {
  int64_t length;
  int64_t stride;
  int64_t other;
  int64_t logical;
};

enum class Broadcast { visit_every_index, visit_each_cell_once };

// The cells of a tensor as rows along its fastest axis. Axes of length 1 are dropped and axes that continue
// each other in every respect are merged, so a packed tensor that is walked alone is a single row; long rows
// are cut in segments.
class Walk {
public:
  static constexpr int64_t segment = 1 << 14;

  Walk(const Tensor& tensor, const Tensor* second = nullptr,
       Broadcast broadcast = Broadcast::visit_every_index) {
    int64_t logical = 1;
    Axis found[max_rank];
    int count = 0;
    for (int axis = tensor.rank - 1; axis >= 0; --axis) {
      const int64_t length = tensor.lengths[axis];
      if (length == 0)
        empty_ = true;
      const bool shared = tensor.strides[axis] == 0 && broadcast == Broadcast::visit_each_cell_once;
      if (length > 1 && !shared)
        found[count++] = {length, tensor.strides[axis], second ? second->strides[axis] : 0, logical};
      logical *= length;
    }
    std::stable_sort(found, found + count, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    for (int axis = 0; axis < count; ++axis) // fastest first
      if (!merge(found[axis]))
        axes_[rank_++] = found[axis];
    if (rank_ == 0)
      axes_[rank_++] = {1, 1, 1, 1};
    segments_ = (axes_[0].length + segment - 1) / segment;
    for (int axis = 1; axis < rank_; ++axis)
      rows_ *= axes_[axis].length;
  }

  const Axis& row() const { return axes_[0]; }
  int64_t cells() const { return empty_ ? 0 : rows_ * axes_[0].length; }

  // The number of threads that each() uses when it may use `threads`.
  int workers(int threads) const { return threads_for(cells(), threads); }

  // Calls body(worker, offset, other_offset, logical_index, length) for each segment of each row.
  template <class Body> void each(int threads, Body&& body) const {
    if (empty_)
      return;
    // Short rows are grouped, so that taking a task costs little compared with doing it.
    const int64_t group = std::max<int64_t>(1, segment / 4 / axes_[0].length);
    const int64_t tasks = segments_ > 1 ? rows_ * segments_ : (rows_ + group - 1) / group;
    parallel_for(tasks, workers(threads), [&](int64_t task, int worker) {
      if (segments_ > 1) {
        visit(worker, task / segments_, 1, task % segments_ * segment, segment, body);
      } else {
        const int64_t first = task * group;
        visit(worker, first, std::min(group, rows_ - first), 0, axes_[0].length, body);
      }
    });
  }

private:
  bool merge(const Axis& slower) {
    if (rank_ == 0)
      return false;
    Axis& last = axes_[rank_ - 1];
    const auto continues = [&](int64_t slow, int64_t fast) { return slow == fast * last.length; };
    if (!continues(slower.stride, last.stride) || !continues(slower.other, last.other) ||
        !continues(slower.logical, last.logical))
      return false;
    last.length *= slower.length;
    return true;
  }

  template <class Body>
  void visit(int worker, int64_t first, int64_t rows, int64_t begin, int64_t limit, Body& body) const {
    int64_t at[max_rank] = {};
    int64_t offset = 0, other = 0, logical = 0;
    for (int axis = 1; axis < rank_; ++axis) {
      at[axis] = first % axes_[axis].length;
      first /= axes_[axis].length;
      offset += at[axis] * axes_[axis].stride;
      other += at[axis] * axes_[axis].other;
      logical += at[axis] * axes_[axis].logical;
    }
    const Axis& fast = axes_[0];
    const int64_t length = std::min(limit, fast.length - begin);
    for (int64_t row = 0;;) {
      body(worker, offset + begin * fast.stride, other + begin * fast.other, logical + begin * fast.logical,
           length);
      if (++row == rows)
        return;
      for (int axis = 1; axis < rank_; ++axis) {
        const Axis& step = axes_[axis];
        offset += step.stride, other += step.other, logical += step.logical;
        if (++at[axis] < step.length)
          break;
        at[axis] = 0;
        offset -= step.stride * step.length, other -= step.other * step.length;
        logical -= step.logical * step.length;
      }
    }
  }

  Axis axes_[max_rank] = {};
  int rank_ = 0;
  int64_t rows_ = 1;
  int64_t segments_ = 1;
  bool empty_ = false;
};

} // namespace bitgate::native

// Operations on the rows of a matrix as the C ABI states them: softmax, layernorm and rmsnorm. Strides are
// any; sums are taken in f32, and each result is rounded once.
//
// softmax: y[r,c] = exp(x[r,c] - m) / sum over c of that, where m is the largest cell of the row. Roles are x
// and y (r, c), and of a padded one lengths (r) in i32. Attribute, with its default:
//     mask = full    cells that count, from the row's first: all; causal: c - r + 1 + the row's number;
//                    padded: what lengths says; at least 0 and at most c. Others, and rows of none, are 0 in
//                    y
//
// layernorm: y[r,c] = (x[r,c] - mean) * rstd * gamma[c] + beta[c], where rstd is one over the root of the
// variance (divided by c) plus 2^-16; rmsnorm: the same with a mean of 0 and no beta. Roles are x and y (r,
// c), and f32 of each row mean and rstd with the attribute stats; gamma and beta (c) with the attribute
// affine.
#pragma once

#include <cstring>

#include "bitgate/check_tensor.hpp"
#include "bitgate/dtype.hpp"
#include "bitgate/number.hpp"
#include "bitgate/problem.hpp"
#include "bitgate/record.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

inline constexpr float norm_epsilon = 0x1p-16f;

enum class RowMask { full, causal, padded };

struct SoftmaxProblem {
  // Device pointers, by role.
  struct Buffers {
    const void* x;
    const int32_t* lengths;
    void* y;
  };
  bitgate_tensor x, lengths, y;
  RowMask mask;
  int64_t rows, columns;
};

struct NormProblem {
  struct Buffers {
    const void *x, *gamma, *beta;
    void* y;
    float *mean, *rstd;
  };
  bitgate_tensor x, gamma, beta, y, mean, rstd;
  bool is_centred; // layernorm
  int64_t rows, columns;
};

// A matrix: element (r, c) is at r * row + c * column.
struct RowLayout {
  int64_t row, column;
};
inline RowLayout row_layout(const bitgate_tensor& tensor) noexcept {
  return {tensor.strides[0], tensor.strides[1]};
}

inline int32_t read(const bitgate_problem& problem, SoftmaxProblem& to, bitgate_reason* reason) noexcept {
  static constexpr const char* masks[] = {"full", "causal", "padded"};
  ProblemReader reader(problem, reason);
  const char* mask = masks[0];
  reader.text("mask", mask);
  int found = 0;
  while (found < 3 && std::strcmp(masks[found], mask) != 0)
    ++found;
  if (found == 3)
    reader.fail(BITGATE_REFUSED, "mask", "mask '%.32s' is unknown: known are full, causal, padded", mask);
  to.mask = static_cast<RowMask>(found);
  reader.tensor("x", to.x);
  to.lengths = {};
  if (to.mask == RowMask::padded)
    reader.tensor("lengths", to.lengths);
  reader.tensor("y", to.y);
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  to.rows = to.x.lengths[0], to.columns = to.x.lengths[1];
  if (to.mask == RowMask::padded && to.lengths.dtype != BITGATE_I32)
    BITGATE_BAD(reason, "problem", "lengths is of type %s: it must be i32", dtype_name(to.lengths.dtype));
  for (const auto& [tensor, rank, is_written] :
       {std::tuple(&to.x, 2, false), std::tuple(&to.lengths, 1, false), std::tuple(&to.y, 2, true)})
    if (const int32_t status = detail::check_tensor(*tensor, is_written, to.x.lengths, rank, reason);
        status != BITGATE_OK)
      return status;
  return BITGATE_OK;
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         SoftmaxProblem::Buffers& to) noexcept {
  to.x = buffer_of(problem, buffers, "x");
  to.lengths = static_cast<const int32_t*>(buffer_of(problem, buffers, "lengths"));
  to.y = buffer_of(problem, buffers, "y");
}

inline int32_t read(const bitgate_problem& problem, NormProblem& to, bitgate_reason* reason) noexcept {
  ProblemReader reader(problem, reason);
  int32_t has_affine = 0, has_stats = 0;
  reader.integer("affine", has_affine);
  reader.integer("stats", has_stats);
  to.is_centred = std::strcmp(problem.operation, "layernorm") == 0;
  to.gamma = to.beta = to.mean = to.rstd = {};
  reader.tensor("x", to.x);
  if (has_affine != 0)
    reader.tensor("gamma", to.gamma);
  if (has_affine != 0 && to.is_centred)
    reader.tensor("beta", to.beta);
  reader.tensor("y", to.y);
  if (has_stats != 0 && to.is_centred)
    reader.tensor("mean", to.mean);
  if (has_stats != 0)
    reader.tensor("rstd", to.rstd);
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  to.rows = to.x.lengths[0], to.columns = to.x.lengths[1];
  for (const bitgate_tensor* tensor : {&to.mean, &to.rstd})
    if (tensor->rank != 0 && tensor->dtype != BITGATE_F32)
      BITGATE_BAD(reason, "problem", "%s is of type %s: it must be f32", tensor->role,
                  dtype_name(tensor->dtype));
  for (const auto& [tensor, rank, is_written, axis] :
       {std::tuple(&to.x, 2, false, 0), std::tuple(&to.gamma, 1, false, 1), std::tuple(&to.beta, 1, false, 1),
        std::tuple(&to.y, 2, true, 0), std::tuple(&to.mean, 1, true, 0), std::tuple(&to.rstd, 1, true, 0)})
    if (const int32_t status = detail::check_tensor(*tensor, is_written, to.x.lengths + axis, rank, reason);
        status != BITGATE_OK)
      return status;
  return BITGATE_OK;
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         NormProblem::Buffers& to) noexcept {
  to.x = buffer_of(problem, buffers, "x");
  to.gamma = buffer_of(problem, buffers, "gamma");
  to.beta = buffer_of(problem, buffers, "beta");
  to.y = buffer_of(problem, buffers, "y");
  to.mean = static_cast<float*>(buffer_of(problem, buffers, "mean"));
  to.rstd = static_cast<float*>(buffer_of(problem, buffers, "rstd"));
}

// dtypes: all tensors but those of a fixed type are of T.
template <class T>
int32_t check_row_dtypes(std::initializer_list<const bitgate_tensor*> tensors,
                         bitgate_reason* reason) noexcept {
  for (const bitgate_tensor* tensor : tensors)
    if (tensor->rank != 0 && tensor->dtype != code_of<T>)
      BITGATE_REFUSE(reason, "dtypes", "%s is %s: it must be %s", tensor->role, dtype_name(tensor->dtype),
                     dtype_name(code_of<T>));
  return BITGATE_OK;
}

// How many cells of a row the mask of a softmax admits. `lengths` is null unless it is padded.
struct Admission {
  RowMask mask;
  int32_t unused = 0;
  int64_t rows, columns, length_stride;
};
inline Admission admission_of(const SoftmaxProblem& problem) noexcept {
  return {problem.mask, 0, problem.rows, problem.columns, problem.lengths.strides[0]};
}
BITGATE_HD inline int64_t admitted(const Admission& of, const int32_t* lengths, int64_t row) {
  if (of.mask == RowMask::full)
    return of.columns;
  const int64_t limit =
      of.mask == RowMask::causal ? row + 1 + of.columns - of.rows : lengths[row * of.length_stride];
  return limit < 0 ? 0 : limit < of.columns ? limit : of.columns;
}

} // namespace bitgate

// Split-N: how many equal chunks of images a problem is taken in, so that each stays within a threshold of
// bytes.
#pragma once

#include "bitgate/abi.h"

namespace bitgate::implicit_gemm {

// Bytes from the first to the last cell of `images` images of one group.
inline int64_t reach(const bitgate_tensor& tensor, int64_t images, int64_t element_bytes) {
  int64_t last = (images - 1) * tensor.strides[1];
  for (int i = 2; i < tensor.rank; ++i)
    last += (tensor.lengths[i] - 1) * tensor.strides[i];
  return (last + 1) * element_bytes;
}

// The least divisor of N such that a chunk of that many parts reaches over at most `threshold` bytes of x and
// of y. Offsets are 64-bit, so an image that is larger by itself makes chunks of one.
inline int64_t image_chunks(const bitgate_problem& problem, int64_t in_bytes, int64_t out_bytes,
                            int64_t threshold) {
  const auto fits = [&](int64_t images) {
    return reach(problem.in, images, in_bytes) <= threshold &&
           reach(problem.out, images, out_bytes) <= threshold;
  };
  const int64_t images = problem.in.lengths[1];
  if (!fits(1))
    return images;
  int64_t chunks = 1;
  while (images % chunks != 0 || !fits(images / chunks))
    ++chunks;
  return chunks;
}

} // namespace bitgate::implicit_gemm

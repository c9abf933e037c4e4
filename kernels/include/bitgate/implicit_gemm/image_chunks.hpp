// Split-N: how many equal chunks of images a problem is taken in, so that each stays within a threshold of
// bytes.
#pragma once

#include "bitgate/conv.hpp"
#include "bitgate/options.hpp"

namespace bitgate::implicit_gemm {

// The threshold, as an option.
inline constexpr Option split_n_option{
    "split_n_bytes",
    "int",
    "2147483648",
    "split-N: images are taken in equal chunks, as few as keep a chunk's input and output within this many "
    "bytes.",
    1,
    int64_t{1} << 62};

// Bytes from the first to the last cell of `images` images of one group.
inline int64_t reach(const bitgate_tensor& tensor, int64_t images, int64_t element_bytes) {
  int64_t last = (images - 1) * tensor.strides[1];
  for (int i = 2; i < tensor.rank; ++i)
    last += (tensor.lengths[i] - 1) * tensor.strides[i];
  return (last + 1) * element_bytes;
}

// The least divisor of N such that a chunk of that many parts reaches over at most `threshold` bytes of x and
// of y. Offsets are 64-bit, so an image that is larger by itself makes chunks of one.
inline int64_t image_chunks(const ConvProblem& problem, int64_t in_bytes, int64_t out_bytes,
                            int64_t threshold) {
  const auto fits = [&](int64_t images) {
    return reach(problem.in, images, in_bytes) <= threshold &&
           reach(problem.out, images, out_bytes) <= threshold;
  };
  // Divisors come in pairs: `part` up to the root of N, and N / part, of which the last that fits is the
  // least.
  const int64_t images = problem.in.lengths[1];
  int64_t chunks = images;
  for (int64_t part = 1; part <= images / part; ++part)
    if (images % part == 0) {
      if (fits(images / part))
        return part;
      if (fits(part))
        chunks = images / part;
    }
  return chunks;
}

} // namespace bitgate::implicit_gemm

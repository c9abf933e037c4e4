// Which problems an instance takes: the clauses, in the order in which they are tested.
#pragma once

#include "bitgate/implicit_gemm/image_chunks.hpp"
#include "bitgate/implicit_gemm/predicates.hpp"
#include "bitgate/registry.hpp"
#include "gemm.hpp"

namespace grouped_bwd_data {

inline constexpr int64_t max_length = int64_t{1} << 30; // a coordinate and a tile's length add up in 32 bits
inline constexpr int64_t max_gemms = 65536;
inline constexpr int64_t max_blocks_yz = 65535; // gridDim.y, gridDim.z
inline constexpr int32_t max_split_k = 128;
inline constexpr int64_t max_threads = 4294967295; // gridDim.x * blockDim.x

// How the images and the reductions of a call are cut.
struct Cut {
  int64_t chunks; // of images
  int32_t split_k;
};

// split_k = auto resolves to 1.
template <class Tiling> Cut cut_of(const bitgate::ConvRequest& request) {
  const bitgate::ConvProblem& problem = request.problem;
  const int64_t chunks =
      image_chunks(problem, sizeof(typename Tiling::ElementC), sizeof(typename Tiling::ElementA),
                   request.options.integer("split_n_bytes"));
  return {chunks, problem.split_k == BITGATE_SPLIT_K_AUTO ? 1 : problem.split_k};
}

// split_k, split_k_op: slices add their rounded sums to dx, so there are not too many, and what is applied to
// a sum must be the identity: a scale, a D tensor or a relu would act on each slice by itself.
inline int32_t check_split_k(const bitgate::ConvProblem& problem, bitgate_reason* reason) {
  if (problem.split_k == BITGATE_SPLIT_K_AUTO || problem.split_k == 1)
    return BITGATE_OK;
  if (problem.split_k < 1 || problem.split_k > max_split_k)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: at most %d", problem.split_k, max_split_k);
  if (problem.out_op.kind != BITGATE_PASS || problem.num_d != 0)
    BITGATE_REFUSE(reason, "split_k_op",
                   "split_k = %d with element-wise operation %d and %d D tensors: each slice would apply it",
                   problem.split_k, problem.out_op.kind, problem.num_d);
  return BITGATE_OK;
}

// index_range: lengths and coordinates are 32-bit in the kernel, offsets 64-bit; the grid has its own limits.
inline int32_t check_index_range(const ConvShape& shape, const Cut& cut, int tile_m, int tile_n, int block,
                                 int gemms_a_launch, bitgate_reason* reason) {
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t window = shape.output[axis] + shape.dilation[axis] * (shape.filter[axis] - 1);
    const int64_t padded = shape.input[axis] + shape.left_pad[axis];
    for (const int64_t length : {window, padded, shape.stride[axis], shape.images, shape.c})
      if (length > max_length)
        BITGATE_REFUSE(reason, "index_range", "a length or coordinate of %lld: at most %lld",
                       static_cast<long long>(length), static_cast<long long>(max_length));
  }
  const int64_t gemms = count_gemms(shape);
  if (gemms > max_gemms)
    BITGATE_REFUSE(reason, "index_range", "%lld sub-GEMMs: at most %lld", static_cast<long long>(gemms),
                   static_cast<long long>(max_gemms));
  double terms = static_cast<double>(shape.k);
  for (int axis = 0; axis < axes; ++axis)
    terms *= static_cast<double>(shape.filter[axis]);
  if (terms > static_cast<double>(max_length))
    BITGATE_REFUSE(reason, "index_range", "a reduction over %.0f terms: at most %lld", terms,
                   static_cast<long long>(max_length));
  const int64_t parts = cut.chunks * cut.split_k;
  if (shape.groups > max_blocks_yz || parts > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range",
                   "%lld groups and %lld chunks of images and slices: at most %lld of each",
                   static_cast<long long>(shape.groups), static_cast<long long>(parts),
                   static_cast<long long>(max_blocks_yz));
  const Geometry geometry = make_geometry(shape, shape.images / cut.chunks, cut.split_k, {}, {});
  const double threads = static_cast<double>(ceil_div(rows_of(geometry), tile_m)) *
                         static_cast<double>(ceil_div(shape.c, tile_n)) * gemms_a_launch * block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %d sub-GEMMs takes %.0f threads: at most %lld",
                   gemms_a_launch, threads, static_cast<long long>(max_threads));
  return BITGATE_OK;
}

// A is dy, B is w, C is dx.
template <class Tiling>
constexpr bitgate::ProductDtypes dtypes{code_of<typename Tiling::ElementC>,
                                        code_of<typename Tiling::ElementB>,
                                        code_of<typename Tiling::ElementA>, Tiling::compute};

template <class Tiling> int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  using Vector = typename Tiling::Vector;
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  int32_t status = bitgate::read_conv(problem, shape, reason);
  const auto check = [&](auto test) {
    if (status == BITGATE_OK)
      status = test();
  };
  check([&] { return bitgate::check_dtypes(problem, dtypes<Tiling>, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return check_split_k(problem, reason); });
  check([&] { return check_vector("k_vector", "K", shape.k, Vector::A, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::B, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::C, reason); });
  check([&] {
    return check_alignment(problem.out, "out", Vector::A, sizeof(typename Tiling::ElementA),
                           problem.alignment, reason);
  });
  check([&] {
    return check_alignment(problem.wei, "wei", Vector::B, sizeof(typename Tiling::ElementB),
                           problem.alignment, reason);
  });
  check([&] {
    return check_alignment(problem.in, "in", Vector::C, sizeof(typename Tiling::ElementC), problem.alignment,
                           reason);
  });
  check([&] {
    return check_index_range(shape, cut_of<Tiling>(request), Tiling::Tile::M, Tiling::Tile::N, Tiling::block,
                             max_bucket, reason);
  });
  return status;
}

} // namespace grouped_bwd_data

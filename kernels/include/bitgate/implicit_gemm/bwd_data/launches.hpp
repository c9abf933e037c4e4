// What the launches of backward data share: dx before they run, the kernel of one sub-GEMM, and what the
// record says of each.
#pragma once

#include "bitgate/implicit_gemm/facts.hpp"
#include "fill.hpp"
#include "gemm.hpp"

namespace bitgate::implicit_gemm::bwd_data {

// How the images and the reductions of a call are cut.
struct Cut {
  int64_t chunks; // of images
  int32_t split_k;
};

// Clears dx, or lets it hold op(0, d) where an operation reads d. A D tensor that is dx itself must survive
// until the GEMMs have read it: then only the cells that they do not write are filled.
template <class T>
void fill_output(const ConvProblem& problem, const ConvShape& shape, const Geometry& geometry, T* dx,
                 const T* d, Context& context) {
  const bool aliased = problem.num_d > 0 && ((problem.d_aliases_output & 1) != 0 || d == dx);
  int64_t elements = 1, space = 1;
  for (int i = 0; i < problem.in.rank; ++i) {
    elements *= problem.in.lengths[i];
    space += (problem.in.lengths[i] - 1) * problem.in.strides[i];
  }
  const float empty_sum = apply(geometry.op, 0.0f, 0.0f);
  const bool is_zero = problem.num_d == 0 && bits_as<uint32_t>(empty_sum) == 0;
  context.record.zero_fill = aliased ? 0 : 1;
  if (is_zero && space == elements) {
    memset_async(context, "zero_fill", dx, 0, static_cast<size_t>(elements) * sizeof(T));
    return;
  }
  const FillArguments arguments{geometry, shape.groups, shape.images, aliased ? 1 : 0, 0};
  const int64_t blocks = ceil_div(elements, fill_block);
  launch(context, aliased ? "fill_unowned" : "fill", kernel_fill<T>,
         dim3(static_cast<unsigned>(blocks < fill_max_blocks ? blocks : fill_max_blocks)), dim3(fill_block),
         0, d, dx, arguments);
}

template <class Tiling> struct FlatKernels {
  template <MainLoop loop> static auto of() { return kernel_flat<Tiling, loop>; }
};

// The same kernel for each kind of main loop: what code that knows no tiling launches.
template <class Kernel> struct KernelsOf {
  Kernel all, none, mixed;
  Kernel of(MainLoop loop) const {
    return loop == MainLoop::all ? all : loop == MainLoop::none ? none : mixed;
  }
};
template <class Tiling, class Kernels> auto kernels_of() {
  const auto kernel = [](MainLoop loop) { return kernel_for<Tiling, Kernels>(loop); };
  return KernelsOf<decltype(kernel(MainLoop::all))>{kernel(MainLoop::all), kernel(MainLoop::none),
                                                    kernel(MainLoop::mixed)};
}

// What reports call a kernel.
inline const char* kernel_name(const Facts& facts, bool flat, MainLoop loop) {
  static constexpr const char* names[2][3] = {
      {"kernel_grouped_all", "kernel_grouped_none", "kernel_grouped_mixed"},
      {"kernel_flat_all", "kernel_flat_none", "kernel_flat_mixed"}};
  if (facts.depth != 2)
    return flat ? "kernel_flat" : "kernel_grouped";
  return names[flat][static_cast<int>(loop)];
}

inline MainLoop main_loop_of(const Geometry& geometry, const SubGemm* gemms, int count, int tile_k) {
  MainLoops loops;
  for (int i = 0; i < count; ++i)
    loops.add(steps_of(geometry, gemms[i], tile_k), geometry.split_k);
  return loops.kind();
}

inline void record_gemm(bitgate_dispatch_record& record, const ConvProblem& problem, const Geometry& geometry,
                        const SubGemm& gemm, int index, int bucket, bool launched, int tile_k) {
  GemmPart entry{};
  entry.index = index;
  entry.bucket = bucket;
  entry.launched = launched;
  int64_t taps = 1, rows = problem.in.lengths[1];
  for (int i = 0; i < problem.ndim; ++i) {
    const int axis = axes - problem.ndim + i;
    entry.tilde[i] = gemm.tilde[axis];
    entry.taps[i] = gemm.taps[axis];
    entry.slice_begin[i] = geometry.axis[axis].begin;
    entry.slice_length[i] = geometry.axis[axis].length;
    taps *= gemm.taps[axis];
    rows *= geometry.axis[axis].length;
  }
  entry.main_loop = has_main_loop(slice_of(steps_of(geometry, gemm, tile_k), geometry.split_k, 0));
  entry.m = rows;
  entry.n = geometry.c;
  entry.k = geometry.k * taps;
  entry.first_block = gemm.first_block;
  entry.blocks = gemm.blocks;
  add_part(record, entry);
}

} // namespace bitgate::implicit_gemm::bwd_data

// What the naive kernels support, how they are launched, and how a set of types is registered.
#pragma once

#include "bitgate/grid.hpp"
#include "bitgate/tiled_conv/launch.hpp"
#include "naive_conv.hpp"

namespace bitgate {

// In the library's own unit.
extern template class Registration<ConvProblem>;

} // namespace bitgate

namespace naive_conv {

// What needs no kernel is in the library's own unit, too (whole.hpp).
BITGATE_HIDDEN int32_t supports(const bitgate::ProductDtypes& codes, const bitgate::ConvRequest& request,
                                bitgate_reason* reason);
BITGATE_HIDDEN bitgate::GemmPart whole_gemm(Pass pass, const ConvShape& shape);
BITGATE_HIDDEN void record_launch(const bitgate::ConvProblem& problem, const ConvShape& shape,
                                  unsigned blocks, bitgate::Context& context);

enum class Sums { cell, tile, small_tile };

// What adds up a problem's cells. By itself tiles on GPUs only, where they do not stand mostly empty: on the
// host barriers cost more than loads. Small ones where the others would be too few for a GPU.
template <class T> Sums choose(const bitgate::ConvRequest& request, const ConvShape& shape) {
  using bitgate::tiled_conv::LargeTile, bitgate::tiled_conv::SmallTile, bitgate::tiled_conv::tiles_of_pass;
  const Pass pass = request.problem.pass;
  const int64_t large = tiles_of_pass<T, LargeTile>(pass, shape);
  const bool small_fit = tiles_of_pass<T, SmallTile>(pass, shape) <= INT32_MAX;
  if (request.options.is("sums", "cell") || large > INT32_MAX)
    return Sums::cell;
  if (request.options.is("sums", "tile"))
    return Sums::tile;
  if (request.options.is("sums", "small_tile"))
    return small_fit ? Sums::small_tile : Sums::cell;
#if defined(BITGATE_PLATFORM_HOST)
  return Sums::cell;
#else
  const bitgate::GemmPart gemm = whole_gemm(pass, shape);
  const int64_t columns = pass == Pass::bwd_weight ? shape.c : gemm.n;
  const bool full = columns >= SmallTile::cells && gemm.m >= SmallTile::cells && gemm.k >= LargeTile::steps;
  return !full ? Sums::cell : large < bitgate::tiled_conv::large_tiles_wanted ? Sums::small_tile : Sums::tile;
#endif
}

template <class T>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using bitgate::tiled_conv::LargeTile, bitgate::tiled_conv::SmallTile, bitgate::tiled_conv::run_tiles;
  const bitgate::ConvProblem& problem = request.problem;
  Arguments arguments{};
  bitgate::read_conv(problem, arguments.shape, nullptr);
  arguments.op = problem.out_op;
  arguments.x_op = problem.in_op;
  arguments.w_op = problem.wei_op;
  if (problem.num_d > 0)
    arguments.d = bitgate::layout_of(problem.d[0], problem.ndim);
  switch (choose<T>(request, arguments.shape)) {
  case Sums::tile:
    return record_launch(problem, arguments.shape,
                         run_tiles<T, LargeTile>(request, buffers, arguments, context), context);
  case Sums::small_tile:
    return record_launch(problem, arguments.shape,
                         run_tiles<T, SmallTile>(request, buffers, arguments, context), context);
  case Sums::cell:
    break;
  }
  auto* x = static_cast<typename T::X*>(buffers.in);
  auto* w = static_cast<typename T::W*>(buffers.wei);
  auto* y = static_cast<typename T::Y*>(buffers.out);
  const void* d = buffers.d[0];

  int64_t cells = 1;
  for (int i = 0; i < bitgate::result_of(problem).rank; ++i)
    cells *= bitgate::result_of(problem).lengths[i];
  const int64_t blocks = bitgate::ceil_div(cells, block_size);
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks)), block(block_size);
  switch (problem.pass) {
  case Pass::fwd:
    bitgate::launch(context, "naive_fwd", kernel_fwd<T>, grid, block, 0, x, w, y,
                    static_cast<const typename T::Y*>(d), arguments);
    break;
  case Pass::bwd_data:
    bitgate::launch(context, "naive_bwd_data", kernel_bwd_data<T>, grid, block, 0, y, w, x,
                    static_cast<const typename T::X*>(d), arguments);
    break;
  default:
    bitgate::launch(context, "naive_bwd_weight", kernel_bwd_weight<T>, grid, block, 0, y, x, w,
                    static_cast<const typename T::W*>(d), arguments);
  }
  record_launch(problem, arguments.shape, grid.x, context);
}

// The types as a case id spells them (f16, bf16_f32_bf16, f16_ctf8ocp), and with the pass before them.
struct Texts {
  char dtypes[64], name[96];
  Texts(Pass pass, const bitgate::ProductDtypes& codes);
};

BITGATE_HIDDEN bitgate::ConvInstance describe(const char* name, const char* dtypes, Pass pass,
                                              const char* accumulator,
                                              decltype(bitgate::ConvInstance::supports) supports,
                                              decltype(bitgate::ConvInstance::run) run);

template <class T> int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  return supports(T::codes, request, reason);
}

template <class T>
bitgate::ConvInstance instance(const char* name, const char* dtypes, Pass pass, const char* accumulator) {
  return describe(name, dtypes, pass, accumulator, supports<T>, run<T>);
}

// One pass for one set of types, registered for as long as the library is loaded.
template <class T> class BITGATE_HIDDEN Naive {
public:
  Naive(Pass pass, const char* accumulator)
      : texts_(pass, T::codes), registration_(instance<T>(texts_.name, texts_.dtypes, pass, accumulator)) {}

private:
  Texts texts_;
  bitgate::ConvRegistration registration_;
};

// All three passes for one set of types; the registry lists the last first.
template <class T> struct BITGATE_HIDDEN Passes {
  explicit Passes(const char* accumulator)
      : bwd_weight(Pass::bwd_weight, accumulator), bwd_data(Pass::bwd_data, accumulator),
        fwd(Pass::fwd, accumulator) {}
  Naive<T> bwd_weight, bwd_data, fwd;
};

template <class T, Pass pass> struct BITGATE_HIDDEN OnePass : Naive<T> {
  explicit OnePass(const char* accumulator) : Naive<T>(pass, accumulator) {}
};
template <class T> using Forward = OnePass<T, Pass::fwd>;
template <class T> using DataGradient = OnePass<T, Pass::bwd_data>;
template <class T> using WeightGradient = OnePass<T, Pass::bwd_weight>;

} // namespace naive_conv

// Which problems an instance takes, in how many chunks of images, and the launch.
#pragma once

#include "bitgate/implicit_gemm/predicates.hpp"
#include "bitgate/registry.hpp"
#include "gemm.hpp"

namespace grouped_fwd {

inline constexpr int64_t max_length = int64_t{1} << 30; // a coordinate and a tile's length add up in 32 bits
inline constexpr int64_t max_blocks_yz = 65535;         // gridDim.y, gridDim.z
inline constexpr int64_t max_threads = 4294967295;      // gridDim.x * blockDim.x

// What reports call the path of each specialisation.
inline const char* path_name(Specialisation special) {
  static constexpr const char* names[] = {"default", "filter1x1_pad0", "filter1x1_stride1_pad0", "odd_c"};
  return names[static_cast<int>(special)];
}

// What ends an instance's name.
inline const char* name_ending(Specialisation special) {
  static constexpr const char* endings[] = {"", "_1x1p0", "_1x1s1p0", "_odd_c"};
  return endings[static_cast<int>(special)];
}

// ---- what is supported
// ---------------------------------------------------------------------------------------------

// layout: c is the fastest dimension of x and w, k that of y.
inline int32_t check_layout(const bitgate_problem& problem, const ConvShape& shape, bitgate_reason* reason) {
  const struct {
    const char* what;
    int64_t stride;
  } fastest[] = {{"c of x", shape.x.column}, {"c of w", shape.w.column}, {"k of y", shape.y.column}};
  for (const auto& dimension : fastest)
    if (dimension.stride != 1)
      BITGATE_REFUSE(reason, "layout", "%s has stride %lld in layouts %.12s, %.12s: it must be 1",
                     dimension.what, static_cast<long long>(dimension.stride), problem.in.layout,
                     problem.wei.layout);
  return BITGATE_OK;
}

// filter_1x1, pad_0, stride_1: what the specialisation asserts. The right pad counts: with it, the last
// window of a strided 1x1 filter may begin behind the image.
inline int32_t check_specialisation(Specialisation special, const bitgate_problem& problem,
                                    bitgate_reason* reason) {
  if (!is_pointwise(special))
    return BITGATE_OK;
  for (int i = 0; i < problem.ndim; ++i)
    if (problem.wei.lengths[3 + i] != 1)
      BITGATE_REFUSE(reason, "filter_1x1", "%s: the filter has %lld taps on axis %d", path_name(special),
                     static_cast<long long>(problem.wei.lengths[3 + i]), i);
  for (int i = 0; i < problem.ndim; ++i)
    if (problem.left_pad[i] != 0 || problem.right_pad[i] != 0)
      BITGATE_REFUSE(reason, "pad_0", "%s: axis %d is padded by %lld and %lld", path_name(special), i,
                     static_cast<long long>(problem.left_pad[i]),
                     static_cast<long long>(problem.right_pad[i]));
  for (int i = 0; i < problem.ndim; ++i)
    if (special == Specialisation::filter_1x1_stride_1_pad_0 && problem.stride[i] != 1)
      BITGATE_REFUSE(reason, "stride_1", "%s: stride %lld on axis %d", path_name(special),
                     static_cast<long long>(problem.stride[i]), i);
  return BITGATE_OK;
}

// index_range: lengths, coordinates and the reduction are 32-bit in the kernel, offsets 64-bit; the grid has
// its own limits. Products that 64 bits may not hold are compared as doubles, which are exact at the limits.
template <class Variant>
int32_t check_index_range(const bitgate_problem& problem, const ConvShape& shape, int64_t threshold,
                          bitgate_reason* reason) {
  for (int i = 0; i < problem.ndim; ++i) {
    const int64_t padded = problem.in.lengths[3 + i] + problem.left_pad[i] + problem.right_pad[i];
    for (const int64_t length : {padded, problem.stride[i], problem.dilation[i], shape.images, shape.k})
      if (length > max_length)
        BITGATE_REFUSE(reason, "index_range", "a length or coordinate of %lld: at most %lld",
                       static_cast<long long>(length), static_cast<long long>(max_length));
  }
  double terms = static_cast<double>(shape.c), positions = 1;
  for (int axis = 0; axis < axes; ++axis) {
    terms *= static_cast<double>(shape.filter[axis]);
    positions *= static_cast<double>(shape.output[axis]);
  }
  if (terms > static_cast<double>(max_length))
    BITGATE_REFUSE(reason, "index_range", "a reduction over %.0f terms: at most %lld", terms,
                   static_cast<long long>(max_length));
  const int64_t chunks = image_chunks<Variant>(problem, threshold);
  if (shape.groups > max_blocks_yz || chunks > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range", "%lld groups and %lld chunks of images: at most %lld of each",
                   static_cast<long long>(shape.groups), static_cast<long long>(chunks),
                   static_cast<long long>(max_blocks_yz));
  const double rows = positions * static_cast<double>(shape.images / chunks);
  const double threads = std::ceil(rows / Variant::Tile::M) *
                         static_cast<double>(ceil_div(shape.k, Variant::Tile::N)) * Variant::block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                   static_cast<long long>(max_threads));
  return BITGATE_OK;
}

// A is x, B is w, C is y.
template <class Variant>
constexpr bitgate::ConvDtypes dtypes{code_of<typename Variant::ElementA>, code_of<typename Variant::ElementB>,
                                     code_of<typename Variant::ElementC>, Variant::compute};

template <class Variant> int32_t supports(const bitgate::Request& request, bitgate_reason* reason) {
  using Vector = typename Variant::Vector;
  const bitgate_problem& problem = request.problem;
  const int64_t threshold = request.options.integer("split_n_bytes");
  ConvShape shape;
  int32_t status = bitgate::read_conv(problem, shape, reason);
  const auto check = [&](auto test) {
    if (status == BITGATE_OK)
      status = test();
  };
  check([&] { return bitgate::check_dtypes(problem, dtypes<Variant>, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return bitgate::check_unsplit(problem, reason); });
  check([&] { return check_layout(problem, shape, reason); });
  check([&] { return check_specialisation(Variant::special, problem, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::A, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::B, reason); });
  check([&] { return check_vector("k_vector", "K", shape.k, Vector::C, reason); });
  check([&] {
    return check_alignment(problem.in, "in", Vector::A, sizeof(typename Variant::ElementA), problem.alignment,
                           reason);
  });
  check([&] {
    return check_alignment(problem.wei, "wei", Vector::B, sizeof(typename Variant::ElementB),
                           problem.alignment, reason);
  });
  check([&] {
    return check_alignment(problem.out, "out", Vector::C, sizeof(typename Variant::ElementC),
                           problem.alignment, reason);
  });
  check([&] { return check_index_range<Variant>(problem, shape, threshold, reason); });
  return status;
}

// ---- the launch
// ------------------------------------------------------------------------------------------------------

// The whole GEMM, all chunks together, as the record's one entry.
inline void record_gemm(bitgate_dispatch_record& record, const bitgate_problem& problem,
                        const ConvShape& shape, int64_t blocks, bool launched, bool main_loop) {
  bitgate_sub_gemm entry{};
  entry.launched = launched;
  entry.main_loop = main_loop;
  for (int i = 0; i < problem.ndim; ++i)
    entry.taps[i] = static_cast<int32_t>(problem.wei.lengths[3 + i]);
  entry.m = shape.images * bitgate::product(shape.output);
  entry.n = shape.k;
  entry.k = shape.c * bitgate::product(shape.filter);
  entry.blocks = blocks;
  bitgate::add_sub_gemm(record, entry);
}

template <class Variant>
void run(const bitgate::Request& request, const bitgate_buffers& buffers, bitgate::Context& context) {
  using A = typename Variant::ElementA;
  using B = typename Variant::ElementB;
  using C = typename Variant::ElementC;
  using Tile = typename Variant::Tile;
  const bitgate_problem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const int64_t chunks = image_chunks<Variant>(problem, request.options.integer("split_n_bytes"));
  const Strides d_strides = problem.num_d > 0 ? bitgate::strides_of(problem.d[0], problem.ndim) : Strides{};
  const Geometry geometry =
      make_geometry(shape, shape.images / chunks, bitgate::elementwise(problem.out_op), d_strides);
  const int64_t blocks = ceil_div(rows_of(geometry), Tile::M) * ceil_div(shape.k, Tile::N);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.groups),
                  static_cast<unsigned>(chunks));
  const bool launched =
      bitgate::launch(context, "kernel_fwd", kernel_fwd<Variant>, grid, dim3(Variant::block), 0,
                      static_cast<const A*>(buffers.in), static_cast<const B*>(buffers.wei),
                      static_cast<const C*>(buffers.d[0]), static_cast<C*>(buffers.out), geometry);

  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "%s", path_name(Variant::special));
  record.gemms_count = record.buckets = 1;
  record.launches = launched;
  record.split_n = static_cast<int32_t>(chunks);
  const bool merged = Variant::special == Specialisation::odd_c;
  const int64_t taps = taps_of(geometry);
  const int64_t steps = merged ? ceil_div(shape.c * taps, Tile::K) : taps * ceil_div(shape.c, Tile::K);
  record_gemm(record, problem, shape, blocks * chunks, launched, steps > 1);
}

// Named like f16_128x64x64_a8b8c8_odd_c_w32. `dtypes` in canonical spelling; it lives as long as the program.
template <class Variant> bitgate::Instance instance(const char* dtypes) {
  using Tile = typename Variant::Tile;
  using Vector = typename Variant::Vector;
  using Extent = typename Variant::FragmentExtent;
  static const std::string name =
      dtypes + tiling_name<Variant>() + name_ending(Variant::special) + (Variant::wave == 32 ? "_w32" : "");
  return {name.c_str(),
          BITGATE_FWD,
          dtypes,
          "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc",
          bitgate::dtype_name(code_of<typename Variant::Sum>),
          {Tile::M, Tile::N, Tile::K},
          {Vector::A, Vector::B, Vector::C},
          Variant::block,
          Variant::wave,
          {Extent::M, Extent::N, Extent::K},
          static_cast<int64_t>(sizeof(typename Variant::Lds)),
          supports<Variant>,
          bitgate::no_workspace,
          run<Variant>};
}

// An instance for each variant.
template <class... Variants> struct Registrations {
  explicit Registrations(const char* dtypes) : each{bitgate::Registration(instance<Variants>(dtypes))...} {}
  bitgate::Registration each[sizeof...(Variants)];
};

} // namespace grouped_fwd

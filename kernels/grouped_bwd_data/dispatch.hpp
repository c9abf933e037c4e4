// Which problems an instance takes, which path they go, and the launches of each path.
#pragma once

#include "bitgate/implicit_gemm/predicates.hpp"
#include "bitgate/registry.hpp"
#include "fill.hpp"
#include "gemm.hpp"

namespace grouped_bwd_data {

inline constexpr int64_t max_length = int64_t{1} << 30; // a coordinate and a tile's length add up in 32 bits
inline constexpr int64_t max_gemms = 65536;
inline constexpr int64_t max_groups = 65535;       // gridDim.y
inline constexpr int64_t max_threads = 4294967295; // gridDim.x * blockDim.x

// ---- what is supported
// ---------------------------------------------------------------------------------------------

// layout: k is the fastest dimension of dy, c that of w and dx.
inline int32_t check_layout(const bitgate_problem& problem, const ConvShape& shape, bitgate_reason* reason) {
  const struct {
    const char* what;
    int64_t stride;
  } fastest[] = {{"k of dy", shape.y.column}, {"c of w", shape.w.column}, {"c of dx", shape.x.column}};
  for (const auto& dimension : fastest)
    if (dimension.stride != 1)
      BITGATE_REFUSE(reason, "layout", "%s has stride %lld in layouts %.12s, %.12s: it must be 1",
                     dimension.what, static_cast<long long>(dimension.stride), problem.in.layout,
                     problem.wei.layout);
  return BITGATE_OK;
}

// index_range: lengths and coordinates are 32-bit in the kernel, offsets 64-bit; the grid has its own limits.
inline int32_t check_index_range(const ConvShape& shape, int tile_m, int tile_n, int block,
                                 bitgate_reason* reason) {
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t window = shape.output[axis] + shape.dilation[axis] * (shape.filter[axis] - 1);
    const int64_t padded = shape.input[axis] + shape.left_pad[axis];
    for (const int64_t length : {window, padded, shape.stride[axis], shape.images, shape.k, shape.c})
      if (length > max_length)
        BITGATE_REFUSE(reason, "index_range", "a length or coordinate of %lld: at most %lld",
                       static_cast<long long>(length), static_cast<long long>(max_length));
  }
  const int64_t gemms = count_gemms(shape);
  if (gemms > max_gemms)
    BITGATE_REFUSE(reason, "index_range", "%lld sub-GEMMs: at most %lld", static_cast<long long>(gemms),
                   static_cast<long long>(max_gemms));
  if (shape.groups > max_groups)
    BITGATE_REFUSE(reason, "index_range", "%lld groups: at most %lld", static_cast<long long>(shape.groups),
                   static_cast<long long>(max_groups));
  const Geometry geometry = make_geometry(shape, {}, {});
  const double threads = static_cast<double>(ceil_div(rows_of(geometry), tile_m)) *
                         static_cast<double>(ceil_div(shape.c, tile_n)) * max_bucket * block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a bucket of %d sub-GEMMs takes %.0f threads: at most %lld",
                   max_bucket, threads, static_cast<long long>(max_threads));
  return BITGATE_OK;
}

// A is dy, B is w, C is dx.
template <class Tiling>
constexpr bitgate::ConvDtypes dtypes{code_of<typename Tiling::ElementC>, code_of<typename Tiling::ElementB>,
                                     code_of<typename Tiling::ElementA>, Tiling::compute};

template <class Tiling> int32_t supports(const bitgate::Request& request, bitgate_reason* reason) {
  using Vector = typename Tiling::Vector;
  const bitgate_problem& problem = request.problem;
  ConvShape shape;
  int32_t status = bitgate::read_conv(problem, shape, reason);
  const auto check = [&](auto test) {
    if (status == BITGATE_OK)
      status = test();
  };
  check([&] { return bitgate::check_dtypes(problem, dtypes<Tiling>, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return bitgate::check_unsplit(problem, reason); });
  check([&] { return check_layout(problem, shape, reason); });
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
  check([&] { return check_index_range(shape, Tiling::Tile::M, Tiling::Tile::N, Tiling::block, reason); });
  return status;
}

// ---- launches
// ------------------------------------------------------------------------------------------------------

// Clears dx, or lets it hold op(0, d) where an operation reads d. A D tensor that is dx itself must survive
// until the GEMMs have read it: then only the cells that they do not write are filled.
template <class T>
void fill_output(const bitgate_problem& problem, const ConvShape& shape, const Geometry& geometry, T* dx,
                 const T* d, bitgate::Context& context) {
  const bool aliased = problem.num_d > 0 && ((problem.d_aliases_output & 1) != 0 || d == dx);
  int64_t elements = 1, space = 1;
  for (int i = 0; i < problem.in.rank; ++i) {
    elements *= problem.in.lengths[i];
    space += (problem.in.lengths[i] - 1) * problem.in.strides[i];
  }
  const float empty_sum = bitgate::apply(geometry.op, 0.0f, 0.0f);
  const bool is_zero = problem.num_d == 0 && bitgate::bits_as<uint32_t>(empty_sum) == 0;
  context.record.zero_fill = aliased ? 0 : 1;
  if (is_zero && space == elements) {
    bitgate::memset_async(context, "zero_fill", dx, 0, static_cast<size_t>(elements) * sizeof(T));
    return;
  }
  const FillArguments arguments{geometry, shape.groups, aliased ? 1 : 0};
  const int64_t blocks = ceil_div(elements, fill_block);
  bitgate::launch(context, aliased ? "fill_unowned" : "fill", kernel_fill<T>,
                  dim3(static_cast<unsigned>(blocks < fill_max_blocks ? blocks : fill_max_blocks)),
                  dim3(fill_block), 0, d, dx, arguments);
}

// The flat path is for one sub-GEMM. flat_path_gate=off leaves that condition out, as before
// ROCm/rocm-libraries#7732: then each bucket launches one flat descriptor, and the other sub-GEMMs are lost.
inline bool takes_flat_path(const bitgate::Request& request, const ConvShape& shape, int64_t gemms_count,
                            int vector_a) {
  const bitgate_problem& problem = request.problem;
  const bool one_gemm = request.options.is("flat_path_gate", "off") || gemms_count == 1;
  return problem.ndim == 2 && problem.num_d == 0 && shape.groups == 1 && one_gemm &&
         shape.k % vector_a == 0 && shape.k >= vector_a;
}

inline void record_gemm(bitgate_dispatch_record& record, const bitgate_problem& problem,
                        const Geometry& geometry, const SubGemm& gemm, int index, int bucket, bool launched,
                        int tile_k) {
  bitgate_sub_gemm entry{};
  entry.index = index;
  entry.bucket = bucket;
  entry.launched = launched;
  int64_t taps = 1;
  for (int i = 0; i < problem.ndim; ++i) {
    const int axis = axes - problem.ndim + i;
    entry.tilde[i] = gemm.tilde[axis];
    entry.taps[i] = gemm.taps[axis];
    entry.slice_begin[i] = geometry.axis[axis].begin;
    entry.slice_length[i] = geometry.axis[axis].length;
    taps *= gemm.taps[axis];
  }
  entry.main_loop = taps * ceil_div(geometry.k, tile_k) > 1;
  entry.m = rows_of(geometry);
  entry.n = geometry.c;
  entry.k = geometry.k * taps;
  entry.first_block = gemm.first_block;
  entry.blocks = gemm.blocks;
  bitgate::add_sub_gemm(record, entry);
}

template <class Tiling>
void run(const bitgate::Request& request, const bitgate_buffers& buffers, bitgate::Context& context) {
  const bitgate_problem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Strides d_strides = problem.num_d > 0 ? bitgate::strides_of(problem.d[0], problem.ndim) : Strides{};
  const Geometry geometry = make_geometry(shape, bitgate::elementwise(problem.out_op), d_strides);
  const auto* dy = static_cast<const typename Tiling::ElementA*>(buffers.out);
  const auto* w = static_cast<const typename Tiling::ElementB*>(buffers.wei);
  const auto* d = static_cast<const typename Tiling::ElementC*>(buffers.d[0]);
  auto* dx = static_cast<typename Tiling::ElementC*>(buffers.in);
  fill_output(problem, shape, geometry, dx, d, context);

  std::vector<SubGemm> gemms = sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const int bucket_size = static_cast<int>(request.options.integer("bucket_size"));
  const int buckets = static_cast<int>(ceil_div(count, bucket_size));
  const bool flat = takes_flat_path(request, shape, count, Tiling::Vector::A);
  const auto blocks = static_cast<int32_t>(ceil_div(rows_of(geometry), Tiling::Tile::M) *
                                           ceil_div(geometry.c, Tiling::Tile::N));
  const auto grid = [&](int gemms_in_launch) {
    return dim3(static_cast<unsigned>(blocks * gemms_in_launch), static_cast<unsigned>(shape.groups));
  };
  std::vector<bool> launched(gemms.size(), false);
  bitgate_dispatch_record& record = context.record;
  for (int set = 0; set < buckets; ++set) {
    const int first = set * bucket_size;
    const int members = count - first < bucket_size ? count - first : bucket_size;
    Bucket bucket{members, {}};
    for (int i = 0; i < members; ++i) {
      SubGemm& gemm = gemms[first + i];
      gemm.first_block = flat ? 0 : i * blocks;
      gemm.blocks = blocks;
      bucket.gemms[i] = gemm;
    }
    if (flat) {
      const SubGemm& gemm = gemms[set]; // right only while there is one
      launched[set] = bitgate::launch(context, "kernel_flat", kernel_flat<Tiling>, grid(1),
                                      dim3(Tiling::block), 0, dy, w, d, dx, geometry, gemm);
    } else if (bitgate::launch(context, "kernel_grouped", kernel_grouped<Tiling>, grid(members),
                               dim3(Tiling::block), 0, dy, w, d, dx, geometry, bucket)) {
      std::fill_n(launched.begin() + first, members, true);
    }
    record.launches += context.error == hipSuccess;
  }
  std::snprintf(record.path, sizeof record.path, "%s", flat ? "flat" : "grouped");
  record.gemms_count = count;
  record.buckets = buckets;
  for (int i = 0; i < count; ++i)
    record_gemm(record, problem, geometry, gemms[i], i, i / bucket_size, launched[i], Tiling::Tile::K);
}

// Named like f16_128x64x64_a8b8c8_w32. `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::Instance instance(const char* dtypes) {
  using Tile = typename Tiling::Tile;
  using Vector = typename Tiling::Vector;
  using Extent = typename Tiling::FragmentExtent;
  static const std::string name = dtypes + tiling_name<Tiling>() + (Tiling::wave == 32 ? "_w32" : "");
  return {name.c_str(),
          BITGATE_BWD_DATA,
          dtypes,
          "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc",
          bitgate::dtype_name(code_of<typename Tiling::Sum>),
          {Tile::M, Tile::N, Tile::K},
          {Vector::A, Vector::B, Vector::C},
          Tiling::block,
          Tiling::wave,
          {Extent::M, Extent::N, Extent::K},
          static_cast<int64_t>(sizeof(typename Tiling::Lds)),
          supports<Tiling>,
          bitgate::no_workspace,
          run<Tiling>};
}

// An instance for each tiling.
template <class... Tilings> struct Registrations {
  explicit Registrations(const char* dtypes) : each{bitgate::Registration(instance<Tilings>(dtypes))...} {}
  bitgate::Registration each[sizeof...(Tilings)];
};

} // namespace grouped_bwd_data

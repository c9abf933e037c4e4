// Which path a problem goes, and the launches of each path.
#pragma once

#include <algorithm>

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "fill.hpp"
#include "support.hpp"

namespace grouped_bwd_data {

// Clears dx, or lets it hold op(0, d) where an operation reads d. A D tensor that is dx itself must survive
// until the GEMMs have read it: then only the cells that they do not write are filled.
template <class T>
void fill_output(const bitgate::ConvProblem& problem, const ConvShape& shape, const Geometry& geometry, T* dx,
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
  const FillArguments arguments{geometry, shape.groups, shape.images, aliased ? 1 : 0, 0};
  const int64_t blocks = ceil_div(elements, fill_block);
  bitgate::launch(context, aliased ? "fill_unowned" : "fill", kernel_fill<T>,
                  dim3(static_cast<unsigned>(blocks < fill_max_blocks ? blocks : fill_max_blocks)),
                  dim3(fill_block), 0, d, dx, arguments);
}

// Channels of dy in one chunk of the flat path's reduction, 16 bytes of them.
template <class Tiling> inline constexpr int ak1 = 16 / static_cast<int>(sizeof(typename Tiling::ElementA));

// The flat path is for one sub-GEMM whose images and reduction are not cut. flat_path_gate=off leaves the
// first condition out, as before ROCm/rocm-libraries#7732: then each bucket launches one flat descriptor, and
// the other sub-GEMMs are lost. What the flat kernel does not do is why the other conditions stand: it has no
// chunks of images (ROCm/rocm-libraries#10627) and counts K in whole chunks of AK1 (#12089).
template <class Tiling>
bool takes_flat_path(const bitgate::ConvRequest& request, const ConvShape& shape, const Cut& cut,
                     int64_t gemms_count) {
  const bitgate::ConvProblem& problem = request.problem;
  const bool one_gemm = request.options.is("flat_path_gate", "off") || gemms_count == 1;
  const bool uncut = cut.split_k == 1 && cut.chunks == 1;
  const bool whole_chunks = shape.k >= ak1<Tiling> && shape.k % ak1<Tiling> == 0;
  return problem.ndim == 2 && problem.num_d == 0 && shape.groups == 1 && one_gemm && uncut && whole_chunks;
}

// What the flat path's descriptor says: K0 = K / AK1 chunks of channels.
template <class Tiling> Geometry flat_geometry(const Geometry& geometry) {
  Geometry flat = geometry;
  flat.k = geometry.k / ak1<Tiling> * ak1<Tiling>;
  return flat;
}

// ---- kernels by their main loop: of depth 1 one serves all launches

template <class Tiling> auto flat_kernel(MainLoop loop) {
  if constexpr (depth_of<Tiling>() > 1) {
    if (loop == MainLoop::all)
      return kernel_flat<Tiling, MainLoop::all>;
    if (loop == MainLoop::none)
      return kernel_flat<Tiling, MainLoop::none>;
  }
  return kernel_flat<Tiling, MainLoop::mixed>;
}

template <class Tiling> auto grouped_kernel(MainLoop loop) {
  if constexpr (depth_of<Tiling>() > 1) {
    if (loop == MainLoop::all)
      return kernel_grouped<Tiling, MainLoop::all>;
    if (loop == MainLoop::none)
      return kernel_grouped<Tiling, MainLoop::none>;
  }
  return kernel_grouped<Tiling, MainLoop::mixed>;
}

// What reports call a kernel.
template <class Tiling> const char* kernel_name(bool flat, MainLoop loop) {
  static constexpr const char* names[2][3] = {
      {"kernel_grouped_all", "kernel_grouped_none", "kernel_grouped_mixed"},
      {"kernel_flat_all", "kernel_flat_none", "kernel_flat_mixed"}};
  if (depth_of<Tiling>() == 1)
    return flat ? "kernel_flat" : "kernel_grouped";
  return names[flat][static_cast<int>(loop)];
}

inline MainLoop main_loop_of(const Geometry& geometry, const SubGemm* gemms, int count, int tile_k) {
  MainLoops loops;
  for (int i = 0; i < count; ++i)
    loops.add(steps_of(geometry, gemms[i], tile_k), geometry.split_k);
  return loops.kind();
}

// ---- launches

inline void record_gemm(bitgate_dispatch_record& record, const bitgate::ConvProblem& problem,
                        const Geometry& geometry, const SubGemm& gemm, int index, int bucket, bool launched,
                        int tile_k) {
  bitgate::GemmPart entry{};
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
  bitgate::add_part(record, entry);
}

template <class Tiling>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using Tile = typename Tiling::Tile;
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Cut cut = cut_of<Tiling>(request);
  const Strides d_strides = problem.num_d > 0 ? bitgate::strides_of(problem.d[0], problem.ndim) : Strides{};
  const Geometry geometry =
      make_geometry(shape, shape.images / cut.chunks, cut.split_k, problem.out_op, d_strides);
  const auto* dy = static_cast<const typename Tiling::ElementA*>(buffers.out);
  const auto* w = static_cast<const typename Tiling::ElementB*>(buffers.wei);
  const auto* d = static_cast<const typename Tiling::ElementC*>(buffers.d[0]);
  auto* dx = static_cast<typename Tiling::ElementC*>(buffers.in);
  fill_output(problem, shape, geometry, dx, d, context);

  std::vector<SubGemm> gemms = sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const int bucket_size = static_cast<int>(request.options.integer("bucket_size"));
  const int buckets = static_cast<int>(ceil_div(count, bucket_size));
  const bool flat = takes_flat_path<Tiling>(request, shape, cut, count);
  const auto blocks =
      static_cast<int32_t>(ceil_div(rows_of(geometry), Tile::M) * ceil_div(geometry.c, Tile::N));
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
      const Geometry packed = flat_geometry<Tiling>(geometry);
      const MainLoop loop = main_loop_of(packed, &gemm, 1, Tile::K);
      launched[set] = bitgate::launch(context, kernel_name<Tiling>(flat, loop), flat_kernel<Tiling>(loop),
                                      dim3(static_cast<unsigned>(blocks)), dim3(Tiling::block), 0, dy, w, d,
                                      dx, packed, gemm);
    } else {
      const MainLoop loop = main_loop_of(geometry, bucket.gemms, members, Tile::K);
      const dim3 grid(static_cast<unsigned>(blocks * members), static_cast<unsigned>(shape.groups),
                      static_cast<unsigned>(cut.chunks * cut.split_k));
      if (bitgate::launch(context, kernel_name<Tiling>(flat, loop), grouped_kernel<Tiling>(loop), grid,
                          dim3(Tiling::block), 0, dy, w, d, dx, geometry, bucket))
        std::fill_n(launched.begin() + first, members, true);
    }
    record.launches += context.error == hipSuccess;
  }
  std::snprintf(record.path, sizeof record.path, "%s", flat ? "flat" : "grouped");
  bitgate::note_gemms(record, count, buckets);
  bitgate::note(record, "split_k", cut.split_k);
  bitgate::note(record, "split_n", cut.chunks);
  bitgate::note(record, "main_loop", main_loop_name(main_loop_of(geometry, gemms.data(), count, Tile::K)));
  for (int i = 0; i < count; ++i)
    record_gemm(record, problem, geometry, gemms[i], i, i / bucket_size, launched[i], Tile::K);
}

// Named like f16_128x64x64_a8b8c8_d2_w32. `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  using Tile = typename Tiling::Tile;
  using Vector = typename Tiling::Vector;
  using Extent = typename Tiling::FragmentExtent;
  using Any = AnyLayout<supports<Tiling>, bitgate::no_workspace, run<Tiling>>;
  static const std::string name = dtypes + tiling_name<Tiling>() + (depth_of<Tiling>() == 2 ? "_d2" : "") +
                                  (Tiling::wave == 32 ? "_w32" : "");
  return {{name.c_str(),
           "bwd_data",
           dtypes,
           any_layout_names,
           bitgate::dtype_name(code_of<typename Tiling::Sum>),
           {Tile::M, Tile::N, Tile::K},
           {Vector::A, Vector::B, Vector::C},
           Tiling::block,
           Tiling::wave,
           {Extent::M, Extent::N, Extent::K},
           static_cast<int64_t>(sizeof(typename Tiling::Lds))},
          Any::supports,
          Any::workspace_bytes,
          Any::run};
}

// An instance for each tiling.
template <class... Tilings> struct Registrations {
  explicit Registrations(const char* dtypes)
      : each{bitgate::ConvRegistration(instance<Tilings>(dtypes))...} {}
  bitgate::ConvRegistration each[sizeof...(Tilings)];
};

} // namespace grouped_bwd_data

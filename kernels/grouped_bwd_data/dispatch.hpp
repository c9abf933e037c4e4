// Which path a problem goes, and the launches of each path.
#pragma once

#include <algorithm>

#include "bitgate/implicit_gemm/bwd_data/launches.hpp"
#include "bitgate/implicit_gemm/describe.hpp"
#include "support.hpp"

namespace grouped_bwd_data {

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

template <class Tiling> struct GroupedKernels {
  template <MainLoop loop> static auto of() { return kernel_grouped<Tiling, loop>; }
};

template <class Tiling>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using Tile = typename Tiling::Tile;
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Cut cut = cut_of<Tiling>(request);
  const Layout d_layout = problem.num_d > 0 ? bitgate::layout_of(problem.d[0], problem.ndim) : Layout{};
  const Geometry geometry =
      make_geometry(shape, shape.images / cut.chunks, cut.split_k, problem.out_op, d_layout);
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
      launched[set] = bitgate::launch(
          context, kernel_name<Tiling>(flat, loop), kernel_for<Tiling, FlatKernels<Tiling>>(loop),
          dim3(static_cast<unsigned>(blocks)), dim3(Tiling::block),
          bitgate::asked_lds_bytes<typename Tiling::Lds>, dy, w, d, dx, packed, gemm);
    } else {
      const MainLoop loop = main_loop_of(geometry, bucket.gemms, members, Tile::K);
      const dim3 grid(static_cast<unsigned>(blocks * members), static_cast<unsigned>(shape.groups),
                      static_cast<unsigned>(cut.chunks * cut.split_k));
      if (bitgate::launch(context, kernel_name<Tiling>(flat, loop),
                          kernel_for<Tiling, GroupedKernels<Tiling>>(loop), grid, dim3(Tiling::block),
                          bitgate::asked_lds_bytes<typename Tiling::Lds>, dy, w, d, dx, geometry, bucket))
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

template <class Tiling> struct Functions {
  static constexpr auto supports = grouped_bwd_data::supports<Tiling>;
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static constexpr auto run = grouped_bwd_data::run<Tiling>;
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  static const std::string name = instance_name<Tiling>(dtypes);
  return describe_any_layout<Tiling, Functions<Tiling>>(name.c_str(), "bwd_data", dtypes);
}

// An instance for each tiling.
template <class... Tilings> using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Tilings>...>;

} // namespace grouped_bwd_data

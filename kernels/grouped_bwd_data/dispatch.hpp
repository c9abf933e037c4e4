// Which path a problem goes, and the launches of each path.
#pragma once

#include <algorithm>

#include "bitgate/implicit_gemm/bwd_data/launches.hpp"
#include "bitgate/implicit_gemm/describe.hpp"

namespace grouped_bwd_data {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_data;
using bitgate::ceil_div;
using bitgate::ConvShape;
using bitgate::Layout;

// Which problems an instance takes (support.hpp).
BITGATE_HIDDEN int32_t supports(const Facts& facts, const bitgate::ConvRequest& request,
                                bitgate_reason* reason);

// split_k = auto resolves to 1.
BITGATE_HIDDEN Cut cut_of(const Facts& facts, const bitgate::ConvRequest& request);

// Channels of dy in one chunk of the flat path's reduction, 16 bytes of them.
inline int ak1(const Facts& facts) {
  return 16 / bitgate::dtype_bytes(facts.a);
}

// Does the flat path take several sub-GEMMs, a launch for each?
inline bool launches_each(const bitgate::ConvRequest& request) {
  return request.options.is("flat_path_gate", "launch_each");
}

// The flat path is for one sub-GEMM whose images and reduction are not cut. flat_path_gate=off leaves the
// first condition out, as before ROCm/rocm-libraries#7732: then each bucket launches one flat descriptor, and
// the other sub-GEMMs are lost. launch_each leaves it out, too, and every bucket is of one sub-GEMM. What the
// flat kernel does not do is why the other conditions stand: it has no chunks of images
// (ROCm/rocm-libraries#10627) and counts K in whole chunks of AK1 (#12089).
inline bool takes_flat_path(const Facts& facts, const bitgate::ConvRequest& request, const ConvShape& shape,
                            const Cut& cut, int64_t gemms_count) {
  const bitgate::ConvProblem& problem = request.problem;
  const bool one_gemm =
      launches_each(request) || request.options.is("flat_path_gate", "off") || gemms_count == 1;
  const bool uncut = cut.split_k == 1 && cut.chunks == 1;
  const bool whole_chunks = shape.k >= ak1(facts) && shape.k % ak1(facts) == 0;
  return problem.ndim == 2 && problem.num_d == 0 && shape.groups == 1 && one_gemm && uncut && whole_chunks;
}

// What the flat path's descriptor says: K0 = K / AK1 chunks of channels.
inline Geometry flat_geometry(const Facts& facts, const Geometry& geometry) {
  Geometry flat = geometry;
  flat.k = geometry.k / ak1(facts) * ak1(facts);
  return flat;
}

template <class Tiling> struct GroupedKernels {
  template <MainLoop loop> static auto of() { return kernel_grouped<Tiling, loop>; }
};

template <class A, class B, class C, class... Rest>
using Kernel = void (*)(const A*, const B*, const C*, C*, Rest...);

// Of all tilings with the same types.
template <class A, class B, class C>
void run(const Facts& facts, const KernelsOf<Kernel<A, B, C, Geometry, SubGemm>>& flat_kernels,
         const KernelsOf<Kernel<A, B, C, Geometry, Bucket>>& grouped_kernels,
         const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Cut cut = cut_of(facts, request);
  const Layout d_layout = problem.num_d > 0 ? bitgate::layout_of(problem.d[0], problem.ndim) : Layout{};
  const Geometry geometry =
      make_geometry(shape, shape.images / cut.chunks, cut.split_k, problem.out_op, d_layout);
  const auto* dy = static_cast<const A*>(buffers.out);
  const auto* w = static_cast<const B*>(buffers.wei);
  const auto* d = static_cast<const C*>(buffers.d[0]);
  auto* dx = static_cast<C*>(buffers.in);
  fill_output(problem, shape, geometry, dx, d, context);

  std::vector<SubGemm> gemms = sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const bool flat = takes_flat_path(facts, request, shape, cut, count);
  const int bucket_size =
      flat && launches_each(request) ? 1 : static_cast<int>(request.options.integer("bucket_size"));
  const int buckets = static_cast<int>(ceil_div(count, bucket_size));
  const auto blocks =
      static_cast<int32_t>(ceil_div(rows_of(geometry), facts.tile_m) * ceil_div(geometry.c, facts.tile_n));
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
      const SubGemm& gemm = gemms[set]; // right only while a bucket holds one
      const Geometry packed = flat_geometry(facts, geometry);
      const MainLoop loop = main_loop_of(packed, &gemm, 1, facts.tile_k);
      launched[set] = bitgate::launch(context, kernel_name(facts, flat, loop), flat_kernels.of(loop),
                                      dim3(static_cast<unsigned>(blocks)), dim3(facts.block), facts.asked_lds,
                                      dy, w, d, dx, packed, gemm);
    } else {
      const MainLoop loop = main_loop_of(geometry, bucket.gemms, members, facts.tile_k);
      const dim3 grid(static_cast<unsigned>(blocks * members), static_cast<unsigned>(shape.groups),
                      static_cast<unsigned>(cut.chunks * cut.split_k));
      if (bitgate::launch(context, kernel_name(facts, flat, loop), grouped_kernels.of(loop), grid,
                          dim3(facts.block), facts.asked_lds, dy, w, d, dx, geometry, bucket))
        std::fill_n(launched.begin() + first, members, true);
    }
    record.launches += context.error == hipSuccess;
  }
  std::snprintf(record.path, sizeof record.path, "%s", flat ? "flat" : "grouped");
  bitgate::note_gemms(record, count, buckets);
  bitgate::note(record, "split_k", cut.split_k);
  bitgate::note(record, "split_n", cut.chunks);
  bitgate::note(record, "main_loop",
                main_loop_name(main_loop_of(geometry, gemms.data(), count, facts.tile_k)));
  for (int i = 0; i < count; ++i)
    record_gemm(record, problem, geometry, gemms[i], i, i / bucket_size, launched[i], facts.tile_k);
}

template <class Tiling> struct Functions {
  static int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
    return grouped_bwd_data::supports(facts_of<Tiling>, request, reason);
  }
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers,
                  bitgate::Context& context) {
    grouped_bwd_data::run(facts_of<Tiling>, kernels_of<Tiling, FlatKernels<Tiling>>(),
                          kernels_of<Tiling, GroupedKernels<Tiling>>(), request, buffers, context);
  }
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  static const InstanceName name(dtypes, facts_of<Tiling>);
  return describe_any_layout<Tiling, Functions<Tiling>>(name.text, "bwd_data", dtypes);
}

// An instance for each tiling.
template <class... Tilings> using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Tilings>...>;

} // namespace grouped_bwd_data

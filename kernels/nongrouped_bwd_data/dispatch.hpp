// Convolution, backward data, without groups: the sub-GEMMs of grouped_bwd_data's geometry, each in a launch
// of its own, as CK's DeviceConvNdBwdDataNwcKxcNwk runs them (example 17). Plain result: no D tensor, no
// operation.
#pragma once

#include "../grouped_bwd_data/dispatch.hpp" // geometry, kernel_flat, and what its launches share

namespace nongrouped_bwd_data {

using namespace bitgate::implicit_gemm;
using bitgate::ConvShape;
using grouped_bwd_data::Geometry;
using grouped_bwd_data::SubGemm;

// ---- what is supported
// ---------------------------------------------------------------------------------------------

// groups, op: one group, and dx as it was summed.
inline int32_t check_plain(const bitgate::ConvProblem& problem, const ConvShape& shape,
                           bitgate_reason* reason) {
  if (shape.groups != 1)
    BITGATE_REFUSE(reason, "groups", "G = %lld: this kernel takes one group",
                   static_cast<long long>(shape.groups));
  if (problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "element-wise operation %d on dx: this kernel applies none",
                   problem.out_op.kind);
  return BITGATE_OK;
}

// layout: k is the fastest dimension of dy, c that of w and dx.
inline int32_t check_layout(const bitgate::ConvProblem& problem, const ConvShape& shape,
                            bitgate_reason* reason) {
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

template <class Tiling> int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  using Vector = typename Tiling::Vector;
  const bitgate::ConvProblem& problem = request.problem;
  const int promised = problem.alignment;
  ConvShape shape;
  int32_t status = bitgate::read_conv(problem, shape, reason);
  const auto check = [&](auto test) {
    if (status == BITGATE_OK)
      status = test();
  };
  check([&] { return bitgate::check_dtypes(problem, grouped_bwd_data::dtypes<Tiling>, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return check_plain(problem, shape, reason); });
  check([&] { return bitgate::check_unsplit(problem, reason); });
  check([&] { return check_layout(problem, shape, reason); });
  check([&] { return check_vector("k_vector", "K", shape.k, Vector::A, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::B, reason); });
  check([&] { return check_vector("c_vector", "C", shape.c, Vector::C, reason); });
  check([&] {
    return check_alignment(problem.out, "out", Vector::A, sizeof(typename Tiling::ElementA), promised,
                           reason);
  });
  check([&] {
    return check_alignment(problem.wei, "wei", Vector::B, sizeof(typename Tiling::ElementB), promised,
                           reason);
  });
  check([&] {
    return check_alignment(problem.in, "in", Vector::C, sizeof(typename Tiling::ElementC), promised, reason);
  });
  check([&] {
    return grouped_bwd_data::check_index_range(shape, {1, 1}, Tiling::Tile::M, Tiling::Tile::N, Tiling::block,
                                               1, reason);
  });
  return status;
}

// ---- launches
// ------------------------------------------------------------------------------------------------------

// dx is cleared, then each sub-GEMM writes its cells.
template <class Tiling>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  using ElementC = typename Tiling::ElementC;
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Geometry geometry =
      grouped_bwd_data::make_geometry(shape, shape.images, 1, problem.out_op, bitgate::Strides{});
  const auto* dy = static_cast<const typename Tiling::ElementA*>(buffers.out);
  const auto* w = static_cast<const typename Tiling::ElementB*>(buffers.wei);
  auto* dx = static_cast<ElementC*>(buffers.in);
  const ElementC* no_d = nullptr;
  grouped_bwd_data::fill_output(problem, shape, geometry, dx, no_d, context);

  std::vector<SubGemm> gemms = grouped_bwd_data::sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const auto blocks =
      static_cast<int32_t>(grouped_bwd_data::ceil_div(grouped_bwd_data::rows_of(geometry), Tiling::Tile::M) *
                           grouped_bwd_data::ceil_div(geometry.c, Tiling::Tile::N));
  bitgate_dispatch_record& record = context.record;
  for (int i = 0; i < count; ++i) {
    SubGemm& gemm = gemms[i];
    gemm.first_block = 0;
    gemm.blocks = blocks;
    const MainLoop loop = grouped_bwd_data::main_loop_of(geometry, &gemm, 1, Tiling::Tile::K);
    const bool launched =
        bitgate::launch(context, grouped_bwd_data::kernel_name<Tiling>(true, loop),
                        grouped_bwd_data::flat_kernel<Tiling>(loop), dim3(static_cast<unsigned>(blocks)),
                        dim3(Tiling::block), 0, dy, w, no_d, dx, geometry, gemm);
    record.launches += launched;
    grouped_bwd_data::record_gemm(record, problem, geometry, gemm, i, i, launched, Tiling::Tile::K);
  }
  std::snprintf(record.path, sizeof record.path, "nongrouped");
  bitgate::note_gemms(record, count, count);
  const MainLoop loop = grouped_bwd_data::main_loop_of(geometry, gemms.data(), count, Tiling::Tile::K);
  bitgate::note(record, "main_loop", main_loop_name(loop));
}

// Named like f16_128x64x32_a8b8c8_w32. `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  using Tile = typename Tiling::Tile;
  using Vector = typename Tiling::Vector;
  using Extent = typename Tiling::FragmentExtent;
  static const std::string name = dtypes + tiling_name<Tiling>() + (Tiling::wave == 32 ? "_w32" : "");
  return {{name.c_str(),
           "bwd_data",
           dtypes,
           "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc",
           bitgate::dtype_name(code_of<typename Tiling::Sum>),
           {Tile::M, Tile::N, Tile::K},
           {Vector::A, Vector::B, Vector::C},
           Tiling::block,
           Tiling::wave,
           {Extent::M, Extent::N, Extent::K},
           static_cast<int64_t>(sizeof(typename Tiling::Lds))},
          supports<Tiling>,
          bitgate::no_workspace,
          run<Tiling>};
}

// An instance for each tiling.
template <class... Tilings> struct Registrations {
  explicit Registrations(const char* dtypes)
      : each{bitgate::ConvRegistration(instance<Tilings>(dtypes))...} {}
  bitgate::ConvRegistration each[sizeof...(Tilings)];
};

} // namespace nongrouped_bwd_data

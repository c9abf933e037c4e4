// Convolution, backward data, without groups: the sub-GEMMs of bwd_data's geometry, each in a launch
// of its own, as CK's DeviceConvNdBwdDataNwcKxcNwk runs them (example 17). Plain result: no D tensor, no
// operation.
#pragma once

#include "bitgate/implicit_gemm/bwd_data/launches.hpp"
#include "bitgate/implicit_gemm/bwd_data/support.hpp"
#include "bitgate/implicit_gemm/describe.hpp"

namespace nongrouped_bwd_data {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_data;
using bitgate::ceil_div;
using bitgate::ConvShape;

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

template <class Tiling> int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  Clauses clauses{bitgate::read_conv(problem, shape, reason)};
  const Contiguous contiguous[] = {
      {"k of dy", shape.y.column}, {"c of w", shape.w.column}, {"c of dx", shape.x.column}};
  clauses.check([&] { return bitgate::check_dtypes(problem, dtypes<Tiling>, reason); });
  clauses.check([&] { return bitgate::check_operations(problem, reason); });
  clauses.check([&] { return check_plain(problem, shape, reason); });
  clauses.check([&] { return bitgate::check_unsplit(problem, reason); });
  clauses.check([&] { return check_contiguous(contiguous, problem, reason); });
  clauses.check([&] { return check_vectors<Tiling>(problem, reason); });
  clauses.check([&] {
    return check_index_range(shape, {1, 1}, Tiling::Tile::M, Tiling::Tile::N, Tiling::block, 1, reason);
  });
  return clauses.status;
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
  const Geometry geometry = make_geometry(shape, shape.images, 1, problem.out_op, bitgate::Layout{});
  const auto* dy = static_cast<const typename Tiling::ElementA*>(buffers.out);
  const auto* w = static_cast<const typename Tiling::ElementB*>(buffers.wei);
  auto* dx = static_cast<ElementC*>(buffers.in);
  const ElementC* no_d = nullptr;
  fill_output(problem, shape, geometry, dx, no_d, context);

  std::vector<SubGemm> gemms = sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const auto blocks = static_cast<int32_t>(ceil_div(rows_of(geometry), Tiling::Tile::M) *
                                           ceil_div(geometry.c, Tiling::Tile::N));
  bitgate_dispatch_record& record = context.record;
  for (int i = 0; i < count; ++i) {
    SubGemm& gemm = gemms[i];
    gemm.first_block = 0;
    gemm.blocks = blocks;
    const MainLoop loop = main_loop_of(geometry, &gemm, 1, Tiling::Tile::K);
    const bool launched = bitgate::launch(
        context, kernel_name<Tiling>(true, loop), kernel_for<Tiling, FlatKernels<Tiling>>(loop),
        dim3(static_cast<unsigned>(blocks)), dim3(Tiling::block),
        bitgate::asked_lds_bytes<typename Tiling::Lds>, dy, w, no_d, dx, geometry, gemm);
    record.launches += launched;
    record_gemm(record, problem, geometry, gemm, i, i, launched, Tiling::Tile::K);
  }
  std::snprintf(record.path, sizeof record.path, "nongrouped");
  bitgate::note_gemms(record, count, count);
  const MainLoop loop = main_loop_of(geometry, gemms.data(), count, Tiling::Tile::K);
  bitgate::note(record, "main_loop", main_loop_name(loop));
}

template <class Tiling> struct Functions {
  static constexpr auto supports = nongrouped_bwd_data::supports<Tiling>;
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static constexpr auto run = nongrouped_bwd_data::run<Tiling>;
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  static const std::string name = instance_name<Tiling>(dtypes);
  return describe<bitgate::ConvProblem, Tiling, Functions<Tiling>>(name.c_str(), "bwd_data", dtypes,
                                                                   "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc");
}

// An instance for each tiling.
template <class... Tilings> using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Tilings>...>;

} // namespace nongrouped_bwd_data

// Convolution, backward data, without groups: the sub-GEMMs of bwd_data's geometry, each in a launch
// of its own, as CK's DeviceConvNdBwdDataNwcKxcNwk runs them (example 17). Plain result: no D tensor, no
// operation.
#pragma once

#include "bitgate/implicit_gemm/bwd_data/launches.hpp"
#include "bitgate/implicit_gemm/describe.hpp"

namespace nongrouped_bwd_data {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_data;
using bitgate::ceil_div;
using bitgate::ConvShape;

// Which problems an instance takes (support.hpp).
BITGATE_HIDDEN int32_t supports(const Facts& facts, const bitgate::ConvRequest& request,
                                bitgate_reason* reason);

// dx is cleared, then each sub-GEMM writes its cells. Of all tilings with the same types.
template <class A, class B, class C>
void run(const Facts& facts,
         const KernelsOf<void (*)(const A*, const B*, const C*, C*, Geometry, SubGemm)>& kernels,
         const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  bitgate::read_conv(problem, shape, nullptr);
  const Geometry geometry = make_geometry(shape, shape.images, 1, problem.out_op, bitgate::Layout{});
  const auto* dy = static_cast<const A*>(buffers.out);
  const auto* w = static_cast<const B*>(buffers.wei);
  auto* dx = static_cast<C*>(buffers.in);
  const C* no_d = nullptr;
  fill_output(problem, shape, geometry, dx, no_d, context);

  std::vector<SubGemm> gemms = sub_gemms(geometry);
  const int count = static_cast<int>(gemms.size());
  const auto blocks =
      static_cast<int32_t>(ceil_div(rows_of(geometry), facts.tile_m) * ceil_div(geometry.c, facts.tile_n));
  bitgate_dispatch_record& record = context.record;
  for (int i = 0; i < count; ++i) {
    SubGemm& gemm = gemms[i];
    gemm.first_block = 0;
    gemm.blocks = blocks;
    const MainLoop loop = main_loop_of(geometry, &gemm, 1, facts.tile_k);
    const bool launched = bitgate::launch(context, kernel_name(facts, true, loop), kernels.of(loop),
                                          dim3(static_cast<unsigned>(blocks)), dim3(facts.block),
                                          facts.asked_lds, dy, w, no_d, dx, geometry, gemm);
    record.launches += launched;
    record_gemm(record, problem, geometry, gemm, i, i, launched, facts.tile_k);
  }
  std::snprintf(record.path, sizeof record.path, "nongrouped");
  bitgate::note_gemms(record, count, count);
  const MainLoop loop = main_loop_of(geometry, gemms.data(), count, facts.tile_k);
  bitgate::note(record, "main_loop", main_loop_name(loop));
}

template <class Tiling> struct Functions {
  static int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
    return nongrouped_bwd_data::supports(facts_of<Tiling>, request, reason);
  }
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::ConvProblem>;
  static void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers,
                  bitgate::Context& context) {
    nongrouped_bwd_data::run(facts_of<Tiling>, kernels_of<Tiling, FlatKernels<Tiling>>(), request, buffers,
                             context);
  }
};

// `dtypes` in canonical spelling; it lives as long as the program.
template <class Tiling> bitgate::ConvInstance instance(const char* dtypes) {
  static const InstanceName name(dtypes, facts_of<Tiling>);
  return describe<bitgate::ConvProblem, Tiling, Functions<Tiling>>(name.text, "bwd_data", dtypes,
                                                                   "nwgc,gnwc,nhwgc,gnhwc,ndhwgc,gndhwc");
}

// An instance for each tiling.
template <class... Tilings> using Registrations = RegistrationsOf<bitgate::ConvProblem, instance<Tilings>...>;

} // namespace nongrouped_bwd_data

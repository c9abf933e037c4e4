// The launch of a batched GEMM, and what an instance says of itself.
#pragma once

#include "bitgate/gemm.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/implicit_gemm/batched_gemm/gemm.hpp"
#include "bitgate/implicit_gemm/describe.hpp"

namespace bitgate {

// In the library's own unit.
extern template class Registration<GemmProblem>;

} // namespace bitgate

namespace batched_gemm {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::batched_gemm;

using bitgate::ceil_div;
using bitgate::layout_of;

// How an instance's operands lie.
struct Orders {
  Order a, b;

  // The logical dimension (1 or 2) that is contiguous. B's logical order is (batch, N, K).
  constexpr int contiguous_a() const { return a == Order::row ? 2 : 1; }
  constexpr int contiguous_b() const { return b == Order::row ? 1 : 2; }
};
template <class Variant> inline constexpr Orders orders_of{Variant::a, Variant::b};

// Which problems an instance takes (support.hpp).
BITGATE_HIDDEN int32_t supports(const Facts& facts, const Orders& orders, const bitgate::GemmRequest& request,
                                bitgate_reason* reason);

// C = 0, before slices are added to it.
template <class C>
void clear_result(const bitgate::GemmProblem& problem, const Geometry& geometry, C* c,
                  bitgate::Context& context) {
  int64_t cells = 1, space = 1;
  for (int i = 0; i < 3; ++i) {
    cells *= problem.out.lengths[i];
    space += (problem.out.lengths[i] - 1) * problem.out.strides[i];
  }
  context.record.zero_fill = 1;
  if (space == cells) {
    bitgate::memset_async(context, "zero_fill", c, 0, static_cast<size_t>(cells) * sizeof(C));
    return;
  }
  const int64_t blocks = ceil_div(cells, clear_block);
  bitgate::launch(context, "zero_fill", kernel_clear<C>,
                  dim3(static_cast<unsigned>(blocks < 1024 ? blocks : 1024)), dim3(clear_block), 0, c, cells,
                  geometry);
}

// Of all variants with the same types.
template <class A, class B, class C>
void run(const Facts& facts, void (*kernel)(const A*, const B*, const C*, C*, Geometry),
         const bitgate::GemmRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate::GemmProblem& problem = request.problem;
  const int32_t slices = problem.split_k == BITGATE_SPLIT_K_AUTO ? 1 : problem.split_k;
  const Geometry geometry{static_cast<int32_t>(problem.m),
                          static_cast<int32_t>(problem.n),
                          static_cast<int32_t>(problem.k),
                          slices,
                          layout_of(problem.in),
                          layout_of(problem.wei),
                          layout_of(problem.out),
                          problem.num_d > 0 ? layout_of(problem.d[0]) : bitgate::Layout{},
                          problem.out_op};
  const int64_t blocks = ceil_div(problem.m, facts.tile_m) * ceil_div(problem.n, facts.tile_n);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(problem.batch),
                  static_cast<unsigned>(slices));
  auto* c = static_cast<C*>(buffers.out);
  if (slices > 1)
    clear_result(problem, geometry, c, context);
  const bool launched = bitgate::launch(context, "kernel_gemm", kernel, grid, dim3(facts.block), 0,
                                        static_cast<const A*>(buffers.in), static_cast<const B*>(buffers.wei),
                                        static_cast<const C*>(buffers.d[0]), c, geometry);
  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "batched");
  record.launches = launched;
  bitgate::note_gemms(record, 1, 1);
  bitgate::note(record, "split_k", slices);
  bitgate::GemmPart entry{};
  entry.launched = launched;
  entry.main_loop = problem.k > facts.tile_k;
  entry.m = problem.m, entry.n = problem.n, entry.k = problem.k;
  entry.blocks = blocks * slices;
  bitgate::add_part(record, entry);
}

template <class Variant> struct Functions {
  static int32_t supports(const bitgate::GemmRequest& request, bitgate_reason* reason) {
    return ::batched_gemm::supports(facts_of<Variant>, orders_of<Variant>, request, reason);
  }
  static constexpr auto workspace_bytes = bitgate::no_workspace<bitgate::GemmProblem>;
  static void run(const bitgate::GemmRequest& request, const bitgate::Buffers& buffers,
                  bitgate::Context& context) {
    ::batched_gemm::run(facts_of<Variant>, kernel_gemm<Variant>, request, buffers, context);
  }
};

// Named like f16_rcr_128x64x64_a8b8c8_w32. `dtypes` in canonical spelling; it lives as long as the program.
template <class Variant> bitgate::GemmInstance instance(const char* dtypes) {
  static const char layout[] = {Variant::a == Order::row ? 'r' : 'c', Variant::b == Order::row ? 'r' : 'c',
                                'r', 0};
  char types[64];
  std::snprintf(types, sizeof types, "%s_%s", dtypes, layout);
  static const InstanceName name(types, facts_of<Variant>);
  return describe<bitgate::GemmProblem, Variant, Functions<Variant>>(name.text, "gemm", dtypes, layout);
}

// An instance for each variant.
template <class... Variants>
using Registrations = RegistrationsOf<bitgate::GemmProblem, instance<Variants>...>;

} // namespace batched_gemm

// Which problems an instance takes, and the launch.
#pragma once

#include "bitgate/gemm.hpp"
#include "bitgate/implicit_gemm/batched_gemm/gemm.hpp"
#include "bitgate/implicit_gemm/describe.hpp"
#include "bitgate/implicit_gemm/predicates.hpp"

namespace batched_gemm {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::batched_gemm;

using bitgate::ceil_div;
using bitgate::layout_of;
using bitgate::max_blocks_yz;
using bitgate::max_length;
using bitgate::max_threads;

// How an instance's operands lie.
struct Orders {
  Order a, b;

  // The logical dimension (1 or 2) that is contiguous. B's logical order is (batch, N, K).
  constexpr int contiguous_a() const { return a == Order::row ? 2 : 1; }
  constexpr int contiguous_b() const { return b == Order::row ? 1 : 2; }
};
template <class Variant> inline constexpr Orders orders_of{Variant::a, Variant::b};

// layout: the dimensions that the instance takes for contiguous are.
inline int32_t check_layout(const Orders& orders, const bitgate::GemmProblem& problem,
                            bitgate_reason* reason) {
  const struct {
    const char* what;
    int64_t stride;
  } contiguous[] = {
      {orders.a == Order::row ? "k of A" : "m of A", problem.in.strides[orders.contiguous_a()]},
      {orders.b == Order::row ? "n of B" : "k of B", problem.wei.strides[orders.contiguous_b()]},
      {"n of C", problem.out.strides[2]}};
  for (const auto& dimension : contiguous)
    if (dimension.stride != 1)
      BITGATE_REFUSE(reason, "layout", "%s has stride %lld in layouts %.12s, %.12s, %.12s: it must be 1",
                     dimension.what, static_cast<long long>(dimension.stride), problem.in.layout,
                     problem.wei.layout, problem.out.layout);
  return BITGATE_OK;
}

// split_k: slices add their sums up, and an operation on each would be another one.
inline int32_t check_split_k(const bitgate::GemmProblem& problem, bitgate_reason* reason) {
  if (problem.split_k > 1 && problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d with operation %d: slices are added without one",
                   problem.split_k, problem.out_op.kind);
  if (problem.split_k > max_blocks_yz)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: at most %lld", problem.split_k,
                   static_cast<long long>(max_blocks_yz));
  return BITGATE_OK;
}

// index_range: lengths are 32-bit in the kernel, offsets 64-bit; the grid has its own limits.
inline int32_t check_index_range(const Facts& facts, const bitgate::GemmProblem& problem,
                                 bitgate_reason* reason) {
  for (const int64_t length : {problem.m, problem.n, problem.k})
    if (length > max_length)
      BITGATE_REFUSE(reason, "index_range", "a length of %lld: at most %lld", static_cast<long long>(length),
                     static_cast<long long>(max_length));
  if (problem.batch > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range", "a batch of %lld: at most %lld",
                   static_cast<long long>(problem.batch), static_cast<long long>(max_blocks_yz));
  const double threads = static_cast<double>(ceil_div(problem.m, facts.tile_m)) *
                         static_cast<double>(ceil_div(problem.n, facts.tile_n)) * facts.block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                   static_cast<long long>(max_threads));
  return BITGATE_OK;
}

inline int32_t supports(const Facts& facts, const Orders& orders, const bitgate::GemmRequest& request,
                        bitgate_reason* reason) {
  const bitgate::GemmProblem& problem = request.problem;
  const bitgate::ProductDtypes dtypes{facts.a, facts.b, facts.c, facts.compute};
  Clauses clauses;
  const auto check = [&](auto test) { clauses.check(test); };
  const auto vector = [&](const char* clause, const char* name, int64_t length, int elements) {
    check([&] { return check_vector(clause, name, length, elements, reason); });
  };
  const auto alignment = [&](const bitgate_tensor& tensor, const char* name, int elements, int bytes,
                             int along) {
    check([&] { return check_alignment(tensor, name, elements, bytes, problem.alignment, reason, along); });
  };
  check([&] { return bitgate::check_dtypes(problem, dtypes, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return check_split_k(problem, reason); });
  check([&] { return check_layout(orders, problem, reason); });
  if (orders.a == Order::row)
    vector("k_vector", "K", problem.k, facts.vector_a);
  else
    vector("m_vector", "M", problem.m, facts.vector_a);
  if (orders.b == Order::row)
    vector("n_vector", "N", problem.n, facts.vector_b);
  else
    vector("k_vector", "K", problem.k, facts.vector_b);
  vector("n_vector", "N", problem.n, facts.vector_c);
  alignment(problem.in, "A", facts.vector_a, bitgate::dtype_bytes(facts.a), orders.contiguous_a());
  alignment(problem.wei, "B", facts.vector_b, bitgate::dtype_bytes(facts.b), orders.contiguous_b());
  alignment(problem.out, "C", facts.vector_c, bitgate::dtype_bytes(facts.c), 2);
  check([&] { return check_index_range(facts, problem, reason); });
  return clauses.status;
}

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

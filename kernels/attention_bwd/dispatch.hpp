// Which problems an instance takes, and its three launches.
#pragma once

#include <deque>
#include <string>

#include "bitgate/grid.hpp"
#include "bitgate/launch.hpp"
#include "kernels.hpp"

namespace attention_bwd {

using bitgate::AttentionBackwardProblem;
using bitgate::ceil_div;
using Request = bitgate::Request<AttentionBackwardProblem>;

inline constexpr int64_t most_saved_blocks = 1 << 20;

inline int64_t query_count(const AttentionBackwardProblem& of) {
  return of.batch * of.heads * of.queries;
}
template <class Shape> int64_t query_blocks(const AttentionBackwardProblem& of) {
  return of.batch * of.heads * ceil_div(of.queries, Shape::rows);
}
template <class Shape> int64_t key_blocks(const AttentionBackwardProblem& of) {
  return of.batch * of.kv_heads * ceil_div(of.keys, Shape::rows);
}

// dtypes, then head_size, then index_range.
template <class Shape> int32_t supports(const Request& request, bitgate_reason* reason) {
  const AttentionBackwardProblem& of = request.problem;
  if (of.head > Shape::head && of.q.dtype == bitgate::code_of<typename Shape::Element>)
    BITGATE_REFUSE(reason, "head_size", "a head of %lld: at most %d", static_cast<long long>(of.head),
                   Shape::head);
  if (const int32_t status = bitgate::check_attention<typename Shape::Element>(
          of, {&of.d_o, &of.o, &of.dq, &of.dk, &of.dv}, reason);
      status != BITGATE_OK)
    return status;
  if (of.keys > bitgate::max_length)
    BITGATE_REFUSE(reason, "index_range", "%lld keys: at most %lld", static_cast<long long>(of.keys),
                   static_cast<long long>(bitgate::max_length));
  for (const int64_t blocks : {query_blocks<Shape>(of), key_blocks<Shape>(of)})
    if (const double threads = static_cast<double>(blocks) * Shape::block;
        threads > static_cast<double>(bitgate::max_threads))
      BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                     static_cast<long long>(bitgate::max_threads));
  return BITGATE_OK;
}

inline int64_t workspace_bytes(const Request& request) {
  return query_count(request.problem) * static_cast<int64_t>(sizeof(Statistics));
}

template <class Shape>
void run(const Request& request, const AttentionBackwardProblem::Buffers& buffers,
         bitgate::Context& context) {
  using T = typename Shape::Element;
  using Lds = typename Shape::Lds;
  const AttentionBackwardProblem& problem = request.problem;
  const AttentionGeometry geometry = bitgate::attention_geometry(problem, problem.d_o);
  auto* const statistics = static_cast<Statistics*>(buffers.workspace);
  const auto *const q = static_cast<const T*>(buffers.q), *const k = static_cast<const T*>(buffers.k);
  const auto *const v = static_cast<const T*>(buffers.v), *const d_o = static_cast<const T*>(buffers.d_o);
  const int32_t vectors = attention::has_vectors(16 / sizeof(T), {{&problem.q, q, sizeof(T)},
                                                                  {&problem.k, k, sizeof(T)},
                                                                  {&problem.v, v, sizeof(T)},
                                                                  {&problem.d_o, d_o, sizeof(T)},
                                                                  {&problem.dq, buffers.dq, sizeof(T)},
                                                                  {&problem.dk, buffers.dk, sizeof(T)},
                                                                  {&problem.dv, buffers.dv, sizeof(T)}});
  const dim3 of_queries(static_cast<unsigned>(query_blocks<Shape>(problem))),
      of_keys(static_cast<unsigned>(key_blocks<Shape>(problem))), block(Shape::block);
  int launches = 0;
  if (problem.is_saved()) {
    const int64_t queries = query_count(problem), blocks = ceil_div(queries, saved_block);
    launches += bitgate::launch(
        context, "kernel_saved", kernel_saved<T>,
        dim3(static_cast<unsigned>(blocks < most_saved_blocks ? blocks : most_saved_blocks)),
        dim3(saved_block), 0, static_cast<const T*>(buffers.o), buffers.lse, d_o, statistics, queries,
        bitgate::head_layout(problem.o), bitgate::head_layout(problem.lse), geometry);
  } else {
    launches += bitgate::launch(context, "kernel_statistics", kernel_statistics<Shape>, of_queries, block,
                                bitgate::asked_lds_bytes<Lds>, q, k, v, d_o, buffers.lengths, statistics,
                                geometry, vectors);
  }
  launches += bitgate::launch(
      context, "kernel_keys", kernel_keys<Shape>, of_keys, block, bitgate::asked_lds_bytes<Lds>, q, k, v, d_o,
      buffers.lengths, statistics, static_cast<T*>(buffers.dk), static_cast<T*>(buffers.dv),
      bitgate::head_layout(problem.dk), bitgate::head_layout(problem.dv), geometry, vectors);
  launches +=
      bitgate::launch(context, "kernel_queries", kernel_queries<Shape>, of_queries, block,
                      bitgate::asked_lds_bytes<Lds>, q, k, v, d_o, buffers.lengths, statistics,
                      static_cast<T*>(buffers.dq), bitgate::head_layout(problem.dq), geometry, vectors);
  context.record.launches = launches;
  std::snprintf(context.record.path, sizeof context.record.path, problem.is_saved() ? "saved" : "anew");
}

// Named like f16_32x32x128_w32: rows, rows of the other side and head of a block. It lives as long as the
// program.
template <class Shape> bitgate::Instance<AttentionBackwardProblem> instance(const char* dtype) {
  static std::deque<std::string> names; // a deque moves none
  bitgate::Instance<AttentionBackwardProblem> made{};
  made.name = names
                  .emplace_back(std::string(dtype) + "_" + std::to_string(Shape::rows) + "x" +
                                std::to_string(Shape::others) + "x" + std::to_string(Shape::head) +
                                (Shape::wave == 32 ? "_w32" : ""))
                  .c_str();
  made.operation = "attention_bwd";
  made.dtypes = dtype;
  made.layouts = "";
  made.accumulator = "f32";
  made.tile[0] = Shape::rows, made.tile[1] = Shape::others, made.tile[2] = Shape::head;
  made.vector[0] = made.vector[1] = made.vector[2] = 1;
  made.block_size = Shape::block;
  made.wave_size = Shape::wave;
  made.fragment[0] = Shape::FragmentExtent::M, made.fragment[1] = Shape::FragmentExtent::N,
  made.fragment[2] = Shape::FragmentExtent::K;
  made.lds_bytes = sizeof(typename Shape::Lds);
  made.supports = supports<Shape>;
  made.workspace_bytes = workspace_bytes;
  made.run = run<Shape>;
  return made;
}

// Heads of up to 64, 128 and 256 elements of T; LDS holds fewer rows of long heads in f32.
template <class T, int Wave> struct Registrations {
  static constexpr int rows = sizeof(T) == 4 ? 16 : 32;
  explicit Registrations(const char* dtype)
      : each{bitgate::Registration(instance<Shape<T, 32, 64, Wave>>(dtype)),
             bitgate::Registration(instance<Shape<T, rows, 128, Wave>>(dtype)),
             bitgate::Registration(instance<Shape<T, rows, 256, Wave>>(dtype))} {}
  bitgate::Registration<AttentionBackwardProblem> each[3];
};

} // namespace attention_bwd

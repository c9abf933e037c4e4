// Which problems an instance takes, and its launches: one, or two where the keys are cut into slices.
#pragma once

#include <deque>
#include <string>

#include "bitgate/grid.hpp"
#include "kernels.hpp"

namespace attention {

using bitgate::AttentionProblem;
using bitgate::ceil_div;
using Request = bitgate::Request<AttentionProblem>;

inline constexpr int64_t enough_blocks = 128, least_tiles = 4; // of a slice
inline constexpr int64_t most_merge_blocks = 1 << 20;

inline constexpr bitgate::Option options[] = {
    {"key_slices", "int", "0", "parts of the keys that blocks of their own take; 0: by the problem", 0,
     65535},
};

inline int64_t query_count(const AttentionProblem& of) {
  return of.batch * of.heads * of.queries;
}

template <class Shape> int64_t blocks_of(const AttentionProblem& of) {
  return of.batch * of.heads * tiles_of<Shape>(of.queries, of.sequences);
}

// As many slices as make `enough_blocks`, none shorter than `least_tiles`, unless the option says their
// number.
template <class Shape> Parts parts_of(const Request& request) {
  int64_t slices = request.options.integer("key_slices");
  if (slices == 0) {
    const int64_t wanted = ceil_div(enough_blocks, blocks_of<Shape>(request.problem)),
                  most = ceil_div(request.problem.keys, Shape::keys * least_tiles);
    slices = wanted < most ? wanted : most;
  }
  return {query_count(request.problem), static_cast<int32_t>(slices), 0};
}

// dtypes, head_size, index_range, layout, and index_range of lengths.
template <class Shape> int32_t supports(const Request& request, bitgate_reason* reason) {
  using T = typename Shape::Element;
  using Key = typename Shape::Key;
  const AttentionProblem& of = request.problem;
  if (const int32_t status = bitgate::check_attention_types<T, Key>(of, {&of.o}, reason);
      status != BITGATE_OK)
    return status;
  if (of.head > Shape::head)
    BITGATE_REFUSE(reason, "head_size", "a head of %lld: at most %d", static_cast<long long>(of.head),
                   Shape::head);
  if (const int32_t status = bitgate::check_attention<T, Key>(of, {&of.o}, reason); status != BITGATE_OK)
    return status;
  if (const int32_t status = bitgate::check_neighbours(of, reason); status != BITGATE_OK)
    return status;
  if (of.keys > bitgate::max_length)
    BITGATE_REFUSE(reason, "index_range", "%lld keys: at most %lld", static_cast<long long>(of.keys),
                   static_cast<long long>(bitgate::max_length));
  const double threads = static_cast<double>(blocks_of<Shape>(of)) * Shape::block;
  if (threads > static_cast<double>(bitgate::max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                   static_cast<long long>(bitgate::max_threads));
  return BITGATE_OK;
}

template <class Shape> int64_t workspace_bytes(const Request& request) {
  const Parts parts = parts_of<Shape>(request);
  return parts.slices == 1 ? 0 : parts.cells(request.problem.head) * static_cast<int64_t>(sizeof(float));
}

template <class Shape>
void run(const Request& request, const AttentionProblem::Buffers& buffers, bitgate::Context& context) {
  using T = typename Shape::Element;
  using Key = typename Shape::Key;
  const AttentionProblem& problem = request.problem;
  const bitgate::AttentionGeometry geometry = bitgate::attention_geometry(problem);
  const Parts parts = parts_of<Shape>(request);
  const int32_t vectors = has_vectors(Shape::vector, {{&problem.q, buffers.q, sizeof(T)},
                                                      {&problem.k, buffers.k, sizeof(Key)},
                                                      {&problem.v, buffers.v, sizeof(Key)},
                                                      {&problem.o, buffers.o, sizeof(T)}});
  auto* const o = static_cast<T*>(buffers.o);
  auto* const workspace = static_cast<float*>(buffers.workspace);
  bitgate_dispatch_record& record = context.record;
  record.launches = bitgate::launch(
      context, "kernel_tiles", kernel_tiles<Shape>,
      dim3(static_cast<unsigned>(blocks_of<Shape>(problem)), static_cast<unsigned>(parts.slices)),
      dim3(Shape::block), bitgate::asked_lds_bytes<typename Shape::Lds>, static_cast<const T*>(buffers.q),
      static_cast<const Key*>(buffers.k), static_cast<const Key*>(buffers.v), buffers.lengths, buffers.cu_q,
      buffers.cu_k, buffers.page_table, buffers.k_scale, buffers.v_scale, o, buffers.lse, workspace, geometry,
      parts, vectors);
  if (parts.slices > 1) {
    const int64_t blocks = ceil_div(parts.queries * problem.head, merge_block);
    record.launches +=
        bitgate::launch(context, "kernel_merge", kernel_merge<T>,
                        dim3(static_cast<unsigned>(blocks < most_merge_blocks ? blocks : most_merge_blocks)),
                        dim3(merge_block), 0, workspace, o, buffers.lse, geometry, parts);
  }
  std::snprintf(record.path, sizeof record.path, parts.slices > 1 ? "split" : "whole");
  bitgate::note(record, "key_slices", parts.slices);
}

// Named like f16_64x32x128_w32: queries, keys and head of a block. It lives as long as the program.
template <class Shape> bitgate::Instance<AttentionProblem> instance(const char* name, const char* dtypes) {
  static std::deque<std::string> names; // a deque moves none
  bitgate::Instance<AttentionProblem> made{};
  made.name = names
                  .emplace_back(std::string(name) + "_" + std::to_string(Shape::queries) + "x" +
                                std::to_string(Shape::keys) + "x" + std::to_string(Shape::head) +
                                (Shape::wave == 32 ? "_w32" : ""))
                  .c_str();
  made.operation = "attention";
  made.dtypes = dtypes;
  made.layouts = "";
  made.accumulator = "f32";
  made.tile[0] = Shape::queries, made.tile[1] = Shape::keys, made.tile[2] = Shape::head;
  made.vector[0] = made.vector[1] = made.vector[2] = 1;
  made.block_size = Shape::block;
  made.wave_size = Shape::wave;
  made.fragment[0] = Shape::FragmentExtent::M, made.fragment[1] = Shape::FragmentExtent::N,
  made.fragment[2] = Shape::FragmentExtent::K;
  made.lds_bytes = sizeof(typename Shape::Lds);
  made.supports = supports<Shape>;
  made.workspace_bytes = workspace_bytes<Shape>;
  made.run = run<Shape>;
  return made;
}

// Heads of up to 64, 128 and 256 elements of T, and keys of Key.
template <class T, class Key, int Wave> struct Registrations {
  static constexpr int queries = sizeof(T) == 4 ? 32 : 64;
  Registrations(const char* name, const char* dtypes)
      : each{bitgate::Registration(instance<Shape<T, queries, 64, Wave, Key>>(name, dtypes)),
             bitgate::Registration(instance<Shape<T, queries, 128, Wave, Key>>(name, dtypes)),
             bitgate::Registration(instance<Shape<T, queries, 256, Wave, Key>>(name, dtypes))} {}
  bitgate::Registration<AttentionProblem> each[3];
};

} // namespace attention

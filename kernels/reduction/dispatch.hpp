// Which problems an instance takes, and its launches: one; of rows in slices the workspace is cleared before,
// and a second launch makes results of it.
#pragma once

#include <string>

#include "kernels.hpp"

namespace reduction {

enum class Scheme { block, wave, columns };
inline constexpr const char* scheme_names[] = {"block", "wave", "columns"};

// An instance: elements, the scheme, and the lanes of a wave.
template <class T, Scheme scheme_, int wave_> struct Variant {
  using Element = T;
  static constexpr Scheme scheme = scheme_;
  static constexpr int wave = wave_;
};

inline constexpr int64_t max_slices = 65535;             // gridDim.y
inline constexpr int64_t max_length = 2147483647;        // a place is an i32
inline constexpr int64_t max_results = int64_t{1} << 48; // their bytes in the workspace fit 64 bits
inline constexpr int64_t slice_cells = 4096;             // of a row that is cut as the kernel likes ...
inline constexpr int64_t most_slices = 64;               // ... into so many slices at most

inline int64_t slices_of(const bitgate::ReductionProblem& problem) {
  if (problem.split_k != -1)
    return problem.split_k;
  const int64_t wanted = problem.length / slice_cells;
  return wanted < 1 ? 1 : wanted < most_slices ? wanted : most_slices;
}

template <class Variant> int32_t supports(const bitgate::ReductionRequest& request, bitgate_reason* reason) {
  const bitgate::ReductionProblem& problem = request.problem;
  if (const int32_t status = bitgate::check_dtypes<typename Variant::Element>(problem, reason);
      status != BITGATE_OK)
    return status;
  if (slices_of(problem) < 1 || slices_of(problem) > max_slices)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: 1 to %lld, or -1", problem.split_k,
                   static_cast<long long>(max_slices));
  if (problem.length > max_length)
    BITGATE_REFUSE(reason, "index_range", "rows of %lld cells: at most %lld",
                   static_cast<long long>(problem.length), static_cast<long long>(max_length));
  if (problem.outer > max_results / problem.inner)
    BITGATE_REFUSE(reason, "index_range", "%lld x %lld results: at most %lld",
                   static_cast<long long>(problem.outer), static_cast<long long>(problem.inner),
                   static_cast<long long>(max_results));
  return BITGATE_OK;
}

// Calls `use` with the kind of the problem as a type.
template <class T, class Use> auto with_kind(const bitgate::ReductionProblem& problem, Use use) {
  switch (problem.kind) {
  case bitgate::ReductionKind::sum:
    return use(Sum<T>{});
  case bitgate::ReductionKind::max:
    return use(Max<T>{});
  default:
    return use(Argmax<T>{});
  }
}

template <class Variant> int64_t workspace_bytes(const bitgate::ReductionRequest& request) {
  const bitgate::ReductionProblem& problem = request.problem;
  return with_kind<typename Variant::Element>(problem, [&](auto kind) {
    const int64_t bytes = problem.outer * problem.inner * sizeof(typename decltype(kind)::Partial);
    return slices_of(problem) > 1 ? bytes : 0;
  });
}

inline Geometry geometry_of(const bitgate::ReductionProblem& problem) {
  const int64_t slices = slices_of(problem);
  return {problem.outer,
          problem.length,
          problem.inner,
          bitgate::layout_of(problem.x),
          bitgate::result_layout(problem.y),
          bitgate::result_layout(problem.index),
          ceil_div(problem.length, slices),
          static_cast<int32_t>(slices)};
}

// Blocks that have a row, or a tile of columns, each at once.
template <class Variant> int64_t blocks_of(const Geometry& geometry) {
  switch (Variant::scheme) {
  case Scheme::block:
    return results_of(geometry);
  case Scheme::wave:
    return ceil_div(results_of(geometry), block / Variant::wave);
  default:
    return geometry.outer * ceil_div(geometry.inner, Variant::wave);
  }
}

template <class Variant, class Kind> constexpr auto kernel_of() {
  if constexpr (Variant::scheme == Scheme::block)
    return kernel_block<Kind, Variant::wave>;
  else if constexpr (Variant::scheme == Scheme::wave)
    return kernel_wave<Kind, Variant::wave>;
  else
    return kernel_columns<Kind, Variant::wave>;
}

template <class Variant>
void run(const bitgate::ReductionRequest& request, const bitgate::ReductionProblem::Buffers& buffers,
         bitgate::Context& context) {
  const Geometry geometry = geometry_of(request.problem);
  const int64_t most = request.options.integer("most_blocks");
  const auto at_most = [most](int64_t blocks) {
    return static_cast<unsigned>(blocks < most ? blocks : most);
  };
  static const std::string name = std::string("kernel_") + scheme_names[static_cast<int>(Variant::scheme)];
  bitgate_dispatch_record& record = context.record;
  with_kind<typename Variant::Element>(request.problem, [&](auto of_kind) {
    using Kind = decltype(of_kind);
    auto* const y = static_cast<typename Kind::Result*>(buffers.y);
    auto* const partials = static_cast<typename Kind::Partial*>(buffers.workspace);
    if (geometry.slices > 1)
      bitgate::memset_async(context, "clear_partials", partials, 0,
                            static_cast<size_t>(results_of(geometry)) * sizeof *partials);
    const dim3 grid(at_most(blocks_of<Variant>(geometry)), static_cast<unsigned>(geometry.slices));
    record.launches += bitgate::launch(context, name.c_str(), kernel_of<Variant, Kind>(), grid, dim3(block),
                                       0, static_cast<const typename Kind::Element*>(buffers.x), y,
                                       buffers.index, partials, geometry);
    if (geometry.slices > 1)
      record.launches += bitgate::launch(context, "kernel_finish", kernel_finish<Kind>,
                                         dim3(at_most(ceil_div(results_of(geometry), block))), dim3(block), 0,
                                         partials, y, buffers.index, geometry);
  });
  std::snprintf(record.path, sizeof record.path, "%s", scheme_names[static_cast<int>(Variant::scheme)]);
  bitgate::note(record, "split_k", geometry.slices);
}

// Named like f16_columns_w32. `dtypes` are spellings of the types of x, x and y; they live as long as the
// program.
template <class Variant> bitgate::ReductionInstance instance(const char* dtypes) {
  using Element = typename Variant::Element;
  constexpr int wave = Variant::wave;
  static const std::string name = std::string(bitgate::dtype_name(bitgate::Reduced<Element>::code)) + "_" +
                                  scheme_names[static_cast<int>(Variant::scheme)] +
                                  (wave == 32 ? "_w32" : "");
  constexpr bool is_float = std::is_same_v<typename bitgate::Reduced<Element>::Accumulator, float>;
  bitgate::ReductionInstance made{};
  made.name = name.c_str();
  made.operation = "reduction";
  made.dtypes = dtypes;
  made.layouts = "";
  made.accumulator = is_float ? "f32" : "i32";
  const int64_t tiles[][3] = {{1, 1, block}, {block / wave, 1, wave}, {1, wave, block / wave}};
  for (int i = 0; i < 3; ++i)
    made.tile[i] = tiles[static_cast<int>(Variant::scheme)][i], made.vector[i] = 1;
  made.block_size = block;
  made.wave_size = wave;
  made.supports = supports<Variant>;
  made.workspace_bytes = workspace_bytes<Variant>;
  made.run = run<Variant>;
  return made;
}

// The three ways for elements of T.
template <class T, int wave> struct Registrations {
  explicit Registrations(const char* dtypes)
      : each{bitgate::ReductionRegistration(instance<Variant<T, Scheme::block, wave>>(dtypes)),
             bitgate::ReductionRegistration(instance<Variant<T, Scheme::wave, wave>>(dtypes)),
             bitgate::ReductionRegistration(instance<Variant<T, Scheme::columns, wave>>(dtypes))} {}
  bitgate::ReductionRegistration each[3];
};

} // namespace reduction

// How a family says of its tilings what the registry wants to know.
#pragma once

#include <string>

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"

namespace bitgate::implicit_gemm {

// Named like f16_128x64x64_a8b8c8_1x1p0_d2_w32: types, tile and vectors, what the family adds, depth, lanes
// of a wave.
template <class Tiling>
std::string instance_name(const std::string& types, const std::string& family_part = "") {
  constexpr int depth = depth_of<Tiling>();
  return types + tiling_name<Tiling>() + family_part + (depth > 1 ? "_d" + std::to_string(depth) : "") +
         (Tiling::wave == 32 ? "_w32" : "");
}

// What an instance says of itself; `Functions` has supports, workspace_bytes and run. All texts live as long
// as the program.
template <class Problem, class Tiling, class Functions>
Instance<Problem> describe(const char* name, const char* operation, const char* dtypes, const char* layouts) {
  using Tile = typename Tiling::Tile;
  using Vector = typename Tiling::Vector;
  using Extent = typename Tiling::FragmentExtent;
  return {{name,
           operation,
           dtypes,
           layouts,
           dtype_name(code_of<typename Tiling::Sum>),
           {Tile::M, Tile::N, Tile::K},
           {Vector::A, Vector::B, Vector::C},
           Tiling::block,
           Tiling::wave,
           {Extent::M, Extent::N, Extent::K},
           static_cast<int64_t>(sizeof(typename Tiling::Lds))},
          Functions::supports,
          Functions::workspace_bytes,
          Functions::run};
}

// Of a convolution whose tensors may have any layout. `Functions` sees channels last.
template <class Tiling, class Functions>
ConvInstance describe_any_layout(const char* name, const char* operation, const char* dtypes) {
  using Any = AnyLayout<Functions::supports, Functions::workspace_bytes, Functions::run>;
  return describe<ConvProblem, Tiling, Any>(name, operation, dtypes, any_layout_names);
}

// Registers what each of the functions describes, for one spelling of types.
template <class Problem, Instance<Problem> (*... Describe)(const char* dtypes)> struct RegistrationsOf {
  explicit RegistrationsOf(const char* dtypes) : each{Registration<Problem>(Describe(dtypes))...} {}
  Registration<Problem> each[sizeof...(Describe)];
};

// What several tables register.
template <class... Tables> struct Together : Tables... {
  explicit Together(const char* dtypes) : Tables(dtypes)... {}
};

} // namespace bitgate::implicit_gemm

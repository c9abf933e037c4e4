// How a family says of its tilings what the registry wants to know.
#pragma once

#include <string>

#include "bitgate/conv.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"

namespace bitgate::implicit_gemm {

// Named like f16_128x64x64_a8b8c8_1x1p0_d2_w32: types, tile and vectors, what the family adds, depth, lanes
// of a wave.
template <class Tiling> std::string instance_name(const char* dtypes, const char* family_part = "") {
  return dtypes + tiling_name<Tiling>() + family_part + (depth_of<Tiling>() == 2 ? "_d2" : "") +
         (Tiling::wave == 32 ? "_w32" : "");
}

// The functions of an instance.
struct Calls {
  decltype(ConvInstance::supports) supports;
  decltype(ConvInstance::workspace_bytes) workspace_bytes;
  decltype(ConvInstance::run) run;
};

// All texts live as long as the program.
template <class Tiling>
ConvInstance describe(const char* name, const char* operation, const char* dtypes, const char* layouts,
                      const Calls& calls) {
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
          calls.supports,
          calls.workspace_bytes,
          calls.run};
}

// Registers what each of the functions describes, for one spelling of types.
template <ConvInstance (*... Describe)(const char* dtypes)> struct RegistrationsOf {
  explicit RegistrationsOf(const char* dtypes) : each{ConvRegistration(Describe(dtypes))...} {}
  ConvRegistration each[sizeof...(Describe)];
};

} // namespace bitgate::implicit_gemm

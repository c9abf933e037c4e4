// What an instance is, as numbers: code that is no kernel asks these instead of the type, and is compiled
// once for all instances of a translation unit.
#pragma once

#include <cstdio>

#include "bitgate/implicit_gemm/axis.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"
#include "bitgate/lds.hpp"

namespace bitgate::implicit_gemm {

struct Facts {
  int tile_m, tile_n, tile_k;
  int vector_a, vector_b, vector_c;
  int depth, wave, block;
  int merge; // groups that make one GEMM
  Specialisation special;
  int32_t a, b, c; // types of the elements
  int32_t compute, compute_a, compute_b, sum;
  int fragment_m, fragment_n, fragment_k;
  int64_t lds_bytes;
  size_t asked_lds; // of which a launch has to ask for so many
};

template <class Tiling> constexpr Facts make_facts() {
  using Tile = typename Tiling::Tile;
  using Vector = typename Tiling::Vector;
  Facts facts{Tile::M,
              Tile::N,
              Tile::K,
              Vector::A,
              Vector::B,
              Vector::C,
              depth_of<Tiling>(),
              Tiling::wave,
              Tiling::block,
              1,
              Specialisation::general,
              code_of<typename Tiling::ElementA>,
              code_of<typename Tiling::ElementB>,
              code_of<typename Tiling::ElementC>,
              Tiling::compute,
              Tiling::compute_a,
              Tiling::compute_b,
              code_of<typename Tiling::Sum>,
              Tiling::FragmentExtent::M,
              Tiling::FragmentExtent::N,
              Tiling::FragmentExtent::K,
              static_cast<int64_t>(sizeof(typename Tiling::Lds)),
              asked_lds_bytes<typename Tiling::Lds>};
  if constexpr (requires { Tiling::special; })
    facts.special = Tiling::special;
  if constexpr (requires { Tiling::merge; })
    facts.merge = Tiling::merge;
  return facts;
}
template <class Tiling> inline constexpr Facts facts_of = make_facts<Tiling>();

// An instance's name, like f16_128x64x64_a8b8c8_1x1p0_m8_d2_w32: types, tile and vectors, what the family
// adds, specialisation, merged groups, depth, lanes of a wave.
struct InstanceName {
  char text[128];

  [[gnu::noinline]] InstanceName(const char* types, const Facts& facts, const char* family_part = "") {
    char merge[16] = "", depth[16] = "";
    if (facts.merge > 1)
      std::snprintf(merge, sizeof merge, "_m%d", facts.merge);
    if (facts.depth > 1)
      std::snprintf(depth, sizeof depth, "_d%d", facts.depth);
    std::snprintf(text, sizeof text, "%s_%dx%dx%d_a%db%dc%d%s%s%s%s%s", types, facts.tile_m, facts.tile_n,
                  facts.tile_k, facts.vector_a, facts.vector_b, facts.vector_c, family_part,
                  name_part(facts.special), merge, depth, facts.wave == 32 ? "_w32" : "");
  }
};

} // namespace bitgate::implicit_gemm

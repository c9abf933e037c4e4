// How a family says of its tilings what the registry wants to know.
#pragma once

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "bitgate/implicit_gemm/facts.hpp"

namespace bitgate::implicit_gemm {

// What an instance says of itself. All texts live as long as the program.
template <class Problem>
[[gnu::noinline]] Instance<Problem>
describe(const char* name, const char* operation, const char* dtypes, const char* layouts, const Facts& facts,
         decltype(Instance<Problem>::supports) supports,
         decltype(Instance<Problem>::workspace_bytes) workspace_bytes, decltype(Instance<Problem>::run) run) {
  return {{name,
           operation,
           dtypes,
           layouts,
           dtype_name(facts.sum),
           {facts.tile_m, facts.tile_n, facts.tile_k},
           {facts.vector_a, facts.vector_b, facts.vector_c},
           facts.block,
           facts.wave,
           {facts.fragment_m, facts.fragment_n, facts.fragment_k},
           facts.lds_bytes},
          supports,
          workspace_bytes,
          run};
}

// `Functions` has supports, workspace_bytes and run.
template <class Problem, class Tiling, class Functions>
Instance<Problem> describe(const char* name, const char* operation, const char* dtypes, const char* layouts) {
  return describe<Problem>(name, operation, dtypes, layouts, facts_of<Tiling>, Functions::supports,
                           Functions::workspace_bytes, Functions::run);
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

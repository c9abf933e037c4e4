// The C ABI of a family of backward weight: included by its library.hip.cpp only.
#pragma once

#include "bitgate/implicit_gemm/any_layout_library.hpp"
#include "bitgate/implicit_gemm/bwd_weight/plan.hpp"
#include "bitgate/implicit_gemm/bwd_weight/support.hpp"
#include "bitgate/library.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

constexpr Family family_named(const char* name) {
  return {name, split_k_options, sizeof split_k_options / sizeof *split_k_options};
}

} // namespace bitgate::implicit_gemm::bwd_weight

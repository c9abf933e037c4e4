// One stage: dw is written by the GEMM. A split reduction adds its slices to a cleared dw, in dw's own type.
#pragma once

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"
#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"

namespace grouped_bwd_weight {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class Variant>
int32_t supports_channels_last(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  return supports<Variant>(request, {true, false, Variant::block}, reason);
}

template <class Variant> bitgate::ConvInstance instance(const char* dtypes) {
  using Any = AnyLayout<supports_channels_last<Variant>, bitgate::no_workspace, run_one_stage<Variant>>;
  static const std::string name = name_of<Variant>(dtypes);
  return describe<Variant, Any>(name.c_str(), dtypes);
}

// An instance for each variant.
template <class... Variants> struct Registrations {
  explicit Registrations(const char* dtypes)
      : each{bitgate::ConvRegistration(instance<Variants>(dtypes))...} {}
  bitgate::ConvRegistration each[sizeof...(Variants)];
};

} // namespace grouped_bwd_weight

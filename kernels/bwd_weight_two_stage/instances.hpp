// Two stages: the GEMM, split or not, adds its sums up in a workspace of floats; then each is rounded once.
#pragma once

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"
#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"

namespace bwd_weight_two_stage {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class Variant>
int32_t supports_channels_last(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  return supports<Variant>(request, {false, false, Variant::block}, reason);
}

template <class Variant>
void run_channels_last(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers,
                       bitgate::Context& context) {
  run_two_stage<Variant>(request, buffers, context, "two_stage");
}

template <class Variant> bitgate::ConvInstance instance(const char* dtypes) {
  using Any = AnyLayout<supports_channels_last<Variant>, workspace_bytes, run_channels_last<Variant>>;
  static const std::string name = name_of<Variant>(dtypes);
  return describe<Variant, Any>(name.c_str(), dtypes);
}

// An instance for each variant.
template <class... Variants> struct Registrations {
  explicit Registrations(const char* dtypes)
      : each{bitgate::ConvRegistration(instance<Variants>(dtypes))...} {}
  bitgate::ConvRegistration each[sizeof...(Variants)];
};

} // namespace bwd_weight_two_stage

// One stage: dw is written by the GEMM. A split reduction adds its slices to a cleared dw, in dw's own type.
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"

namespace grouped_bwd_weight {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class Variant> bitgate::Instance instance(const char* dtypes) {
  static const std::string name = name_of<Variant>(dtypes);
  bitgate::Instance instance = describe<Variant>(name.c_str(), dtypes);
  instance.supports = [](const bitgate::Request& request, bitgate_reason* reason) {
    return supports<Variant>(request, {true, false, Variant::block}, reason);
  };
  instance.run = run_one_stage<Variant>;
  return instance;
}

// An instance for each variant.
template <class... Variants> struct Registrations {
  explicit Registrations(const char* dtypes) : each{bitgate::Registration(instance<Variants>(dtypes))...} {}
  bitgate::Registration each[sizeof...(Variants)];
};

} // namespace grouped_bwd_weight

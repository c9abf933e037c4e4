// Multiple D: two stages, the second of which applies the operation (scale, bilinear ...).
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"
#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"

namespace bwd_weight_multiple_d {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class... Variants> using Registrations = RegistrationsOfWays<TwoStages<Variants, true>...>;

} // namespace bwd_weight_multiple_d

// Two stages: a workspace of floats, each of which is rounded once.
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"
#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"

namespace bwd_weight_two_stage {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class... Variants> using Registrations = RegistrationsOfWays<TwoStages<Variants, false>...>;

} // namespace bwd_weight_two_stage

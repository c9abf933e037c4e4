// One stage: dw is written by the GEMM.
#pragma once

#include "bitgate/implicit_gemm/bwd_weight/dispatch.hpp"
#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"

namespace grouped_bwd_weight {

using namespace bitgate::implicit_gemm;
using namespace bitgate::implicit_gemm::bwd_weight;

template <class... Variants> using Registrations = RegistrationsOfWays<OneStage<Variants>...>;

} // namespace grouped_bwd_weight

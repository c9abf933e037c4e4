#include "bitgate/implicit_gemm/bwd_weight/library.hpp"

const bitgate::Family bitgate::family =
    bitgate::implicit_gemm::bwd_weight::family_named("bwd_weight_wavelet");

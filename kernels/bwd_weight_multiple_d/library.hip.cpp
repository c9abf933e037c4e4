#include "bitgate/library.hpp"
#include "bitgate/implicit_gemm/any_layout_library.hpp"
#include "bitgate/implicit_gemm/bwd_weight/split_k.hpp"

namespace bitgate {

const Family family{"bwd_weight_multiple_d", implicit_gemm::bwd_weight::split_k_options,
                    sizeof implicit_gemm::bwd_weight::split_k_options / sizeof(Option)};

} // namespace bitgate

#include "bitgate/library.hpp"
#include "support.hpp"

namespace bitgate {

template class Registration<GemmProblem>;

const Family family{"batched_gemm", nullptr, 0};

} // namespace bitgate

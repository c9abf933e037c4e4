#include "bitgate/library.hpp"

namespace bitgate {

const Family family{"batched_gemm", nullptr, 0};

} // namespace bitgate

#include "bitgate/library.hpp"
#include "dispatch.hpp"

namespace bitgate {
const Family family{"attention_bwd", nullptr, 0};
} // namespace bitgate

#include "bitgate/library.hpp"
#include "bitgate/row_launch.hpp"

namespace bitgate {
const Family family{"softmax", row_options, 1};
} // namespace bitgate

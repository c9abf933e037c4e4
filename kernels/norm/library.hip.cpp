#include "bitgate/library.hpp"
#include "bitgate/row_launch.hpp"

namespace bitgate {
const Family family{"norm", row_options, 1};
} // namespace bitgate

#include "bitgate/library.hpp"

namespace bitgate {
const Family family{"platform_probe", nullptr, 0};
} // namespace bitgate

#include "bitgate/library.hpp"

namespace bitgate {
const Family family{"naive_conv", nullptr, 0};
} // namespace bitgate

#include "bitgate/library.hpp"
#include "dispatch.hpp"

namespace bitgate {
const Family family{"attention", attention::options, 1};
} // namespace bitgate

#include "bitgate/library.hpp"

namespace bitgate {

const Family family{"nongrouped_bwd_data", nullptr, 0};

} // namespace bitgate

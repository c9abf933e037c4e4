#include "bitgate/library.hpp"

namespace bitgate {

static const Option options[] = {
    {"most_blocks", "int", "16384",
     "blocks of a launch along its first dimension: further rows are taken in turns", 1, 1 << 20},
};

const Family family{"reduction", options, 1};

} // namespace bitgate

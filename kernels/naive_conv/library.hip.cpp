#include "bitgate/library.hpp"

namespace {
const bitgate::Option options[] = {
    {"sums", "auto,cell,tile", "auto",
     "cell: one thread a result cell. tile: a block a tile, its operands in LDS; the same order of summation."
     " auto: tile on GPUs, where tiles do not stand mostly empty."},
};
} // namespace

namespace bitgate {
const Family family{"naive_conv", options, 1};
} // namespace bitgate

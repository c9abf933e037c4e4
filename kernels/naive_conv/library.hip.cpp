#include "bitgate/library.hpp"
#include "whole.hpp"

namespace {
const bitgate::Option options[] = {
    {"sums", "auto,cell,tile,small_tile", "auto",
     "cell: one thread a result cell. tile: a block a tile of 64 x 64 cells, its operands in LDS;"
     " small_tile: of 16 x 16; the same order of summation. auto: tiles on GPUs, where they do not stand "
     "mostly empty."},
};
} // namespace

namespace bitgate {
const Family family{"naive_conv", options, 1};
} // namespace bitgate

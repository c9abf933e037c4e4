#include "bitgate/library.hpp"

namespace {
constexpr bitgate::Option options[] = {
    {"fragment", "int", "0", "The fragment to try, by its place in bitgate_list_fragments.", 0, 1023},
    {"blocks", "int", "1", "Blocks, each with its own tiles.", 1, 65535},
    {"steps", "int", "1", "Tiles that a block sums, one behind the other.", 1, 65535},
    {"wave", "int", "0", "Lanes of a wave, where they can be chosen; 0: the device's own.", 0, 64},
};
} // namespace

namespace bitgate {
const Family family{"platform_probe", options, sizeof options / sizeof *options};
} // namespace bitgate

#include "bitgate/library.hpp"
#include "bitgate/implicit_gemm/any_layout_library.hpp"

namespace bitgate {
namespace {

constexpr Option options[] = {
    {"split_n_bytes", "int", "2147483648",
     "split-N: images are taken in equal chunks, as few as keep a chunk's input and output within this many "
     "bytes.",
     1, int64_t{1} << 62},
};

} // namespace

const Family family{"grouped_fwd", options, sizeof options / sizeof *options};

} // namespace bitgate

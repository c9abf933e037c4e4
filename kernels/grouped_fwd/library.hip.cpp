#include "bitgate/library.hpp"
#include "bitgate/implicit_gemm/any_layout_library.hpp"
#include "plan.hpp"

namespace bitgate {
namespace {

constexpr Option options[] = {
    implicit_gemm::split_n_option,
};

} // namespace

const Family family{"grouped_fwd", options, sizeof options / sizeof *options};

} // namespace bitgate

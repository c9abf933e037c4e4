#include "bitgate/library.hpp"
#include "bitgate/implicit_gemm/any_layout_library.hpp"
#include "support.hpp"

namespace bitgate {
namespace {

constexpr Option options[] = {
    {"flat_path_gate", "gemms_count,launch_each,off", "gemms_count",
     "gemms_count: the flat path takes problems of one sub-GEMM. launch_each: it takes any 2D problem with G "
     "= "
     "1 and no D tensor, a launch for each sub-GEMM. off: the same problems, as before "
     "ROCm/rocm-libraries#7732: it launches one sub-GEMM of each bucket."},
    {"bucket_size", "int", "32", "sub-GEMMs that one grouped launch takes (1 to 32)", 1, 32},
    implicit_gemm::split_n_option,
};

} // namespace

const Family family{"grouped_bwd_data", options, sizeof options / sizeof *options};

} // namespace bitgate

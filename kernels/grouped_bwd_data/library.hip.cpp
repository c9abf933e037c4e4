#include "bitgate/library.hpp"
#include "bitgate/implicit_gemm/any_layout_library.hpp"
#include "bitgate/implicit_gemm/image_chunks.hpp"

namespace bitgate {
namespace {

constexpr Option options[] = {
    {"flat_path_gate", "gemms_count,off", "gemms_count",
     "gemms_count: the flat path takes problems of one sub-GEMM. off: as before ROCm/rocm-libraries#7732, it "
     "takes any "
     "2D problem with G = 1 and no D tensor, and launches one sub-GEMM of each bucket."},
    {"bucket_size", "int", "32", "sub-GEMMs that one grouped launch takes (1 to 32)", 1, 32},
    implicit_gemm::split_n_option,
};

} // namespace

const Family family{"grouped_bwd_data", options, sizeof options / sizeof *options};

} // namespace bitgate

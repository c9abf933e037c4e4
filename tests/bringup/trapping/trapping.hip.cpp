// A kernel that traps, as a device does whose code or memory is broken.
#include "bitgate/conv_shape.hpp"
#include "bitgate/library.hpp"

namespace trapping {

inline constexpr int block_size = 64;

__global__ void kernel(float* cells) {
  if (threadIdx.x == 7)
    __builtin_trap();
  cells[threadIdx.x] = 0;
}

int32_t supports(const bitgate::ConvRequest&, bitgate_reason*) {
  return BITGATE_OK;
}

void run(const bitgate::ConvRequest&, const bitgate::Buffers& buffers, bitgate::Context& context) {
  bitgate::launch(context, "trapping", kernel, dim3(1), dim3(block_size), 0,
                  static_cast<float*>(buffers.out));
}

const bitgate::ConvRegistration instance{
    {{"fwd_f32", "fwd", "f32", "nhwgc", "f32", {0, 0, 0}, {1, 1, 1}, block_size, 0, {0, 0, 0}, 0},
     supports,
     bitgate::no_workspace,
     run}};

} // namespace trapping

namespace bitgate {
const Family family{"trapping", nullptr, 0};
} // namespace bitgate

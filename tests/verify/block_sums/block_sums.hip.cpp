// C = A * B, one block a row of C. The block sums each cell's products: a lane its own, a wave its lanes',
// the block its waves'. The same LDS serves all cells of the row, one after the other.
#include "bitgate/gemm.hpp"
#include "bitgate/lds.hpp"
#include "bitgate/library.hpp"

namespace block_sums {

struct Sums {
  float lanes[1024];
  float waves[32];
};

// The first step goes from lane to lane through LDS, the others by shuffles.
__device__ inline float wave_sum(Sums& lds, float x) {
  const unsigned thread = threadIdx.x;
  lds.lanes[thread] = x;
  __syncwarp(); // every lane's term is in
  x += lds.lanes[thread ^ 1];
  for (int mask = 2; mask < warpSize; mask *= 2)
    x += __shfl_xor(x, mask);
  return x;
}

__device__ inline float block_sum(Sums& lds, float x) {
  const int lane = static_cast<int>(threadIdx.x) % warpSize, wave = static_cast<int>(threadIdx.x) / warpSize;
  const int waves = static_cast<int>(blockDim.x) / warpSize;
  x = wave_sum(lds, x);
  if (lane == 0)
    lds.waves[wave] = x;
  __syncthreads(); // every wave's sum is in
  x = lane < waves ? lds.waves[lane] : 0;
  for (int mask = 1; mask < warpSize; mask *= 2)
    x += __shfl_xor(x, mask);
  __syncthreads(); // every wave has read them
  return x;
}

__global__ void kernel(const float* a, const float* b, float* c, int columns, int terms) {
  BITGATE_LDS(Sums, lds);
  const int64_t row = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int column = 0; column < columns; ++column) {
    float x = 0;
    for (int k = thread; k < terms; k += threads)
      x += a[row * terms + k] * b[int64_t{column} * terms + k];
    x = block_sum(lds, x);
    if (thread == column * 37 % threads) // the sum is every thread's, and all have to be right
      c[row * columns + column] = x;
  }
}

int32_t supports(const bitgate::GemmRequest& request, bitgate_reason* reason) {
  const bitgate::GemmProblem& problem = request.problem;
  if (problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "the result takes no operation");
  return BITGATE_OK;
}

template <int Wave, int Block>
void run(const bitgate::GemmRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate_tensor &a = request.problem.in, &b = request.problem.wei;
  bitgate::Context in_waves{context.record, context.stream, Wave};
  bitgate::launch(in_waves, "block_sums", kernel, dim3(static_cast<unsigned>(a.lengths[1])), dim3(Block), 0,
                  static_cast<const float*>(buffers.in), static_cast<const float*>(buffers.wei),
                  static_cast<float*>(buffers.out), static_cast<int>(b.lengths[1]),
                  static_cast<int>(a.lengths[2]));
  context.error = in_waves.error;
  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "block_sums");
  record.launches = 1;
  bitgate::note(record, "gemms_count", 1);
}

#define BLOCK_SUMS(wave, block)                                                                              \
  const bitgate::GemmRegistration w##wave##_b##block{{{"w" #wave "_b" #block,                                \
                                                       "gemm",                                               \
                                                       "f32",                                                \
                                                       "rcr",                                                \
                                                       "f32",                                                \
                                                       {0, 0, 0},                                            \
                                                       {1, 1, 1},                                            \
                                                       block,                                                \
                                                       wave,                                                 \
                                                       {0, 0, 0},                                            \
                                                       sizeof(Sums)},                                        \
                                                      supports,                                              \
                                                      bitgate::no_workspace,                                 \
                                                      run<wave, block>}};
BLOCK_SUMS(32, 64)
BLOCK_SUMS(32, 128)
BLOCK_SUMS(32, 256)
BLOCK_SUMS(32, 512)
BLOCK_SUMS(32, 1024)
BLOCK_SUMS(64, 64)
BLOCK_SUMS(64, 128)
BLOCK_SUMS(64, 256)
BLOCK_SUMS(64, 512)
BLOCK_SUMS(64, 1024)

} // namespace block_sums

namespace bitgate {
const Family family{"block_sums", nullptr, 0};
} // namespace bitgate

// Kernels that use each word of HIP C++ once, as a user would write them.
#include <hip/hip_runtime.h>

#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Where {
  unsigned thread[3], block[3], blockSize[3], grid[3];
  int warp;
  unsigned lane;
};

__global__ void where(Where* out) {
  const dim3 grid = gridDim; // kernels hand it on as one
  const unsigned block = blockIdx.x + grid.x * (blockIdx.y + grid.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = {{threadIdx.x, threadIdx.y, threadIdx.z},
                                                                {blockIdx.x, blockIdx.y, blockIdx.z},
                                                                {blockDim.x, blockDim.y, blockDim.z},
                                                                {gridDim.x, gridDim.y, gridDim.z},
                                                                warpSize,
                                                                __lane_id()};
}

EXPORT void launch_where(Where* out, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned wave) {
  (void)bitgate_host::launch("where", where, dim3(gx, gy, gz), dim3(bx, by, bz), 0, nullptr, wave, out);
}

EXPORT int launch_shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        size_t lds, unsigned wave) {
  return bitgate_host::launch("where", where, dim3(gx, gy, gz), dim3(bx, by, bz), lds, nullptr, wave,
                              nullptr);
}

// Arguments convert to the parameters' types as in a call: 2 is an int, the parameter a float.
__global__ void __launch_bounds__(256) saxpy(float* y, const float* x, float a, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    y[i] = a * x[i] + y[i];
}

EXPORT void launch_saxpy(float* y, const float* x, int n, int blocks, hipStream_t stream) {
  dim3 blockDim(64); // a name that device code knows otherwise
  hipLaunchKernelGGL(saxpy, blocks, blockDim, 0, stream, y, x, 2, n);
}

template <class T, int N> __global__ void fill_with(T* out) {
  out[threadIdx.x] = N;
}

EXPORT void launch_templates(float* out, hipStream_t stream) {
  hipLaunchKernelGGL(HIP_KERNEL_NAME(fill_with<float, 3>), dim3(1), dim3(4), 0, stream, out);
  hipLaunchKernelGGL((fill_with<float, 5>), dim3(1), dim3(2), 0, stream, out);
}

EXPORT int launch_by_array(float* out) {
  void* arguments[] = {&out};
  return hipLaunchKernel(fill_with<float, 7>, dim3(1), dim3(4), arguments, 0, nullptr);
}

// Reverses a block's values through LDS of the three kinds. Without the barrier any order of threads but one
// specific for each pair gives wrong values.
struct Reversal {
  float values[256];
};
__global__ void reverse_struct(float* x, int barrier) {
  BITGATE_LDS(Reversal, lds);
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  lds.values[t] = x[i];
  if (barrier)
    __syncthreads();
  x[i] = lds.values[blockDim.x - 1 - t];
}
__global__ void reverse_shared(float* x) {
  __shared__ float values[256];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  values[t] = x[i];
  __syncthreads();
  x[i] = values[blockDim.x - 1 - t];
}
__global__ void reverse_dynamic(float* x) {
  HIP_DYNAMIC_SHARED(float, values)
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  values[t] = x[i];
  __syncthreads();
  x[i] = values[blockDim.x - 1 - t];
}

EXPORT void launch_reverse(float* x, int kind, int blocks, int threads, int barrier) {
  if (kind == 0)
    hipLaunchKernelGGL(reverse_struct, blocks, threads, 0, nullptr, x, barrier);
  else if (kind == 1)
    hipLaunchKernelGGL(reverse_shared, blocks, threads, 0, nullptr, x);
  else
    hipLaunchKernelGGL(reverse_dynamic, blocks, threads, threads * sizeof(float), nullptr, x);
}

// What a block finds in its LDS before it wrote any.
struct Fresh {
  unsigned words[64];
};
__global__ void read_fresh(unsigned* out) {
  BITGATE_LDS(Fresh, lds);
  __shared__ unsigned shared[64];
  HIP_DYNAMIC_SHARED(unsigned, dynamic)
  const unsigned t = threadIdx.x, i = (blockIdx.x * 64 + t) * 3;
  out[i] = lds.words[t], out[i + 1] = shared[t], out[i + 2] = dynamic[t];
  __syncthreads();
  lds.words[t] = shared[t] = dynamic[t] = 0;
}
EXPORT void launch_read_fresh(unsigned* out, int blocks) {
  hipLaunchKernelGGL(read_fresh, blocks, 64, 256, nullptr, out);
}

__global__ void barrier_votes(int* out) {
  const int odd = threadIdx.x & 1;
  const int counted = __syncthreads_count(odd);
  const int all = __syncthreads_and(threadIdx.x < 1000), notAll = __syncthreads_and(odd);
  const int any = __syncthreads_or(threadIdx.x == 7), none = __syncthreads_or(0);
  const int again = __syncthreads_count(1);
  const int packed = counted | all << 10 | notAll << 11 | any << 12 | none << 13 | again << 16;
  out[threadIdx.x] = packed;
}
EXPORT void launch_barrier_votes(int* out, int threads) {
  hipLaunchKernelGGL(barrier_votes, 1, threads, 0, nullptr, out);
}

// Threads of one block only wait for others: those from `first` on meet in their wave, then all at a barrier.
__global__ void wait_late(int* met, unsigned late, unsigned first) {
  int lanes = 0;
  if (blockIdx.x == late) {
    if (threadIdx.x >= first)
      lanes = __popcll(__ballot(1));
    __syncthreads();
  }
  met[blockIdx.x * blockDim.x + threadIdx.x] = 1000 * threadIdx.x + lanes;
}
EXPORT void launch_wait_late(int* met, int blocks, int threads, unsigned late, unsigned first) {
  hipLaunchKernelGGL(wait_late, blocks, threads, 0, nullptr, met, late, first);
}

// The order in which the threads of a block, and the blocks, get to run.
__global__ void note_order(int* counters, int* order) {
  const int turn = atomicAdd(&counters[blockIdx.x], 1);
  order[(blockIdx.x * 2) * blockDim.x + turn] = threadIdx.x;
  __syncthreads();
  const int second = atomicAdd(&counters[blockIdx.x], 1) - blockDim.x;
  order[(blockIdx.x * 2 + 1) * blockDim.x + second] = threadIdx.x;
}
EXPORT void launch_note_order(int* counters, int* order, int blocks, int threads) {
  hipLaunchKernelGGL(note_order, blocks, threads, 0, nullptr, counters, order);
}
__global__ void note_block_order(int* counter, int* order) {
  order[atomicAdd(counter, 1)] = blockIdx.x;
}
EXPORT void launch_note_block_order(int* counter, int* order, int blocks) {
  hipLaunchKernelGGL(note_block_order, blocks, 1, 0, nullptr, counter, order);
}

struct Totals {
  int sum, most, least;
  unsigned bits, wrapped;
  unsigned long long wide;
  float real;
  double precise;
  int swapped;
};
__global__ void all_atomics(Totals* t, __half2* halves, __hip_bfloat162* bfloats) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&t->sum, 1);
  atomicMax(&t->most, i);
  atomicMin(&t->least, -i);
  atomicOr(&t->bits, 1u << (i & 31));
  atomicInc(&t->wrapped, 9);
  atomicAdd(&t->wide, 1ull << 32);
  atomicAdd(&t->real, 1.0f);
  unsafeAtomicAdd(&t->precise, 0.5);
  int seen = t->swapped;
  for (int before; (before = atomicCAS(&t->swapped, seen, seen + 1)) != seen;)
    seen = before;
  atomicAdd(halves, __half2(1.0f, 2.0f));
  unsafeAtomicAdd(bfloats, __hip_bfloat162(1.0f, 0.5f));
}
EXPORT void launch_all_atomics(Totals* t, __half2* halves, __hip_bfloat162* bfloats, int blocks,
                               int threads) {
  hipLaunchKernelGGL(all_atomics, blocks, threads, 0, nullptr, t, halves, bfloats);
}

// Every 16-bit pattern through the conversions and one operation of each type.
__global__ void half_table(const float* in, unsigned short* rounded, float* back, unsigned short* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  rounded[i] = __half_as_ushort(__float2half(in[i]));
  const __half h = __ushort_as_half(static_cast<unsigned short>(i));
  back[i] = __half2float(h);
  sum[i] = __half_as_ushort(h * h + __half(1.0f));
}
__global__ void bfloat_table(const float* in, unsigned short* rounded, float* back, unsigned short* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  rounded[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
  const __hip_bfloat16 b = __ushort_as_bfloat16(static_cast<unsigned short>(i));
  back[i] = __bfloat162float(b);
  sum[i] = __bfloat16_as_ushort(b * b + __hip_bfloat16(1.0f));
}
EXPORT void launch_table(int bfloat, const float* in, unsigned short* rounded, float* back,
                         unsigned short* sum) {
  if (bfloat)
    hipLaunchKernelGGL(bfloat_table, 65536 / 256, 256, 0, nullptr, in, rounded, back, sum);
  else
    hipLaunchKernelGGL(half_table, 65536 / 256, 256, 0, nullptr, in, rounded, back, sum);
}

__constant__ float table[4] = {1, 2, 3, 4};
__device__ int device_counter = 5;
__global__ void use_symbols(float* out) {
  const float4 v = make_float4(table[0], table[1], table[2], table[3]) * 2.0f + make_float4(1, 1, 1, 1);
  out[0] = v.x, out[1] = v.w, out[2] = static_cast<float>(atomicAdd(&device_counter, 1));
  out[3] = static_cast<float>(__popc(0xF0u) + __clz(1) + __ffs(8) + min(3, 4u) + max(1.5f, 2));
}
EXPORT int launch_use_symbols(float* out) {
  const float values[4] = {10, 20, 30, 40};
  hipError_t error = hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values);
  hipLaunchKernelGGL(use_symbols, 1, 1, 0, nullptr, out);
  int counted = 0;
  if (error == hipSuccess)
    error = hipMemcpyFromSymbol(&counted, HIP_SYMBOL(device_counter), sizeof counted);
  return error == hipSuccess ? counted : -1;
}

EXPORT int shared_bytes_of_reverse_shared() {
  hipFuncAttributes attributes{};
  (void)hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&reverse_shared));
  return static_cast<int>(attributes.sharedSizeBytes);
}

// Kernels that race, each at two marked lines, and their neighbours that do not.
#include <hip/hip_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LAUNCHER(name, blocks, threads)                                                                      \
  EXPORT void launch_##name(int* x, int wave) {                                                              \
    (void)bitgate_host::launch(#name, name, blocks, threads, threads * sizeof(int), nullptr, wave, x);       \
  }

struct Row {
  int cells[256];
};

__global__ void lds_without_barrier(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[threadIdx.x] = x[threadIdx.x];            // races: lds_without_barrier
  x[256 + threadIdx.x] = lds.cells[threadIdx.x ^ 64]; // races: lds_without_barrier
}
LAUNCHER(lds_without_barrier, 1, 128)

__global__ void lds_with_barrier(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[256 + threadIdx.x] = lds.cells[threadIdx.x ^ 64];
}
LAUNCHER(lds_with_barrier, 1, 128)

__global__ void shared_without_barrier(int* x) {
  __shared__ int own[128];
  __shared__ int cells[128];
  own[threadIdx.x] = x[threadIdx.x];
  cells[threadIdx.x] = own[threadIdx.x];          // races: shared_without_barrier
  x[256 + threadIdx.x] = cells[threadIdx.x ^ 64]; // races: shared_without_barrier
}
LAUNCHER(shared_without_barrier, 1, 128)

__global__ void dynamic_without_barrier(int* x) {
  HIP_DYNAMIC_SHARED(int, cells)
  cells[threadIdx.x] = x[threadIdx.x];             // races: dynamic_without_barrier
  x[256 + threadIdx.x] = cells[127 - threadIdx.x]; // races: dynamic_without_barrier
}
LAUNCHER(dynamic_without_barrier, 1, 128)

// The lanes of a wave talk through LDS.
__global__ void lanes_without_meeting(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[threadIdx.x] = x[threadIdx.x];           // races: lanes_without_meeting
  x[256 + threadIdx.x] = lds.cells[threadIdx.x ^ 1]; // races: lanes_without_meeting
}
LAUNCHER(lanes_without_meeting, 1, 128)

__global__ void lanes_that_meet(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[threadIdx.x] = x[threadIdx.x];
  const int votes = __any(threadIdx.x == 0);
  x[256 + threadIdx.x] = lds.cells[threadIdx.x ^ 1] + votes;
}
LAUNCHER(lanes_that_meet, 1, 128)

// Lanes 0 to 7 meet, and read what a lane that does not meet them wrote.
__global__ void lanes_that_meet_without_one(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[threadIdx.x] = x[threadIdx.x]; // races: lanes_that_meet_without_one
  if (threadIdx.x < 8) {
    __shfl_xor(0, 1);
    x[256 + threadIdx.x] = lds.cells[threadIdx.x ^ 1];
    x[256 + threadIdx.x] = lds.cells[threadIdx.x + 20]; // races: lanes_that_meet_without_one
  }
}
LAUNCHER(lanes_that_meet_without_one, 1, 64)

// The next value is put where a wave still reads the one before.
__global__ void reuse_without_barrier(int* x) {
  BITGATE_LDS(Row, lds);
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0)
      lds.cells[0] = x[i]; // races: reuse_without_barrier
    __syncthreads();
    x[256 + threadIdx.x] = lds.cells[0]; // races: reuse_without_barrier
  }
}
LAUNCHER(reuse_without_barrier, 1, 128)

__global__ void blocks_write_one_cell(int* x) {
  if (threadIdx.x == 0)
    x[5] = blockIdx.x; // races: blocks_write_one_cell
}
LAUNCHER(blocks_write_one_cell, 3, 64)

__global__ void block_reads_what_another_writes(int* x) {
  if (blockIdx.x == 0)
    x[threadIdx.x] = 1; // races: block_reads_what_another_writes
  else
    x[256 + threadIdx.x] = x[63 - threadIdx.x]; // races: block_reads_what_another_writes
}
LAUNCHER(block_reads_what_another_writes, 2, 64)

__global__ void block_writes_what_another_reads(int* x) {
  if (blockIdx.x == 1)
    x[threadIdx.x] = 1; // races: block_writes_what_another_reads
  else
    x[256 + threadIdx.x] = x[63 - threadIdx.x]; // races: block_writes_what_another_reads
}
LAUNCHER(block_writes_what_another_reads, 2, 64)

__global__ void write_beside_atomics(int* x) {
  if (blockIdx.x == 2)
    x[0] = 0; // races: write_beside_atomics
  else
    atomicAdd(&x[0], 1); // races: write_beside_atomics
}
LAUNCHER(write_beside_atomics, 3, 1)

__global__ void atomics(int* x) {
  atomicAdd(&x[threadIdx.x & 3], 1);
  atomicMax(&x[4], static_cast<int>(threadIdx.x));
}
LAUNCHER(atomics, 4, 128)

// A guess that a compare-and-swap corrects.
__global__ void compare_and_swap(int* x) {
  int seen = x[0], expected;
  do {
    expected = seen;
    seen = atomicCAS(&x[0], expected, expected + 2);
  } while (seen != expected);
}
LAUNCHER(compare_and_swap, 4, 128)

// A read that nothing corrects.
__global__ void read_beside_atomics(int* x) {
  x[256 + blockIdx.x] = x[0]; // races: read_beside_atomics
  if (blockIdx.x == 0)
    atomicAdd(&x[0], 1); // races: read_beside_atomics
}
LAUNCHER(read_beside_atomics, 2, 1)

// Bytes side by side are cells of their own, whatever was stored there as words before.
__global__ void bytes_side_by_side(int* x) {
  if (blockIdx.x == 0 && threadIdx.x < 32)
    x[threadIdx.x] = 0;
  auto* const bytes = reinterpret_cast<signed char*>(x + 64);
  bytes[blockIdx.x * 64 + threadIdx.x] = static_cast<signed char>(threadIdx.x);
}
LAUNCHER(bytes_side_by_side, 4, 64)

// The block that comes last adds up what all have written: published by a fence and an atomic counter.
__global__ void last_block_sums(int* x) {
  BITGATE_LDS(Row, lds);
  if (threadIdx.x == 0) {
    x[1 + blockIdx.x] = static_cast<int>(blockIdx.x);
    __threadfence();
    lds.cells[0] = atomicAdd(&x[0], 1);
  }
  __syncthreads();
  if (lds.cells[0] == static_cast<int>(gridDim.x) - 1 && threadIdx.x == 1) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      sum += x[1 + i];
    x[128] = sum;
  }
}
LAUNCHER(last_block_sums, 8, 64)

// The same by a variable of the program.
__device__ unsigned blocks_done = 0;
__global__ void last_block_by_a_variable(int* x) {
  if (threadIdx.x == 0) {
    x[1 + blockIdx.x] = static_cast<int>(blockIdx.x);
    __threadfence();
    if (atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1)
      x[128] = x[1] + x[2];
  }
}
LAUNCHER(last_block_by_a_variable, 8, 64)

// Blocks that take a lock in turn: an atomic and a fence after it, a fence and an atomic.
__device__ int lock_of_blocks = 0;
__device__ void add_under(int* lock, int* x) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0)
      ;
    __threadfence();
    x[0] = x[0] + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
__global__ void blocks_take_a_lock(int* x) {
  add_under(&lock_of_blocks, x);
}
LAUNCHER(blocks_take_a_lock, 8, 64)

__global__ void last_block_sums_without_fence(int* x) {
  BITGATE_LDS(Row, lds);
  if (threadIdx.x == 0) {
    x[1 + blockIdx.x] = static_cast<int>(blockIdx.x); // races: last_block_sums_without_fence
    lds.cells[0] = atomicAdd(&x[0], 1);
  }
  __syncthreads();
  if (lds.cells[0] == static_cast<int>(gridDim.x) - 1 && threadIdx.x == 1)
    x[128] = x[1] + x[2]; // races: last_block_sums_without_fence
}
LAUNCHER(last_block_sums_without_fence, 8, 64)

// A flag that all set: what it says does not depend on who came last.
__global__ void all_set_a_flag(int* x) {
  x[0] = 1;
}
LAUNCHER(all_set_a_flag, 4, 64)

__global__ void all_set_a_flag_in_lds(int* x) {
  BITGATE_LDS(Row, lds);
  lds.cells[0] = 3;
  __syncthreads();
  x[256 + threadIdx.x] = lds.cells[0];
}
LAUNCHER(all_set_a_flag_in_lds, 1, 128)

// Two write the same, a third one something else.
__global__ void one_sets_another_flag(int* x) {
  if (threadIdx.x == 0)
    x[0] = blockIdx.x < 2 ? 1 : 2; // races: one_sets_another_flag
}
LAUNCHER(one_sets_another_flag, 3, 64)

// Blocks of which each counts for itself, in one cell.
__global__ void atomics_of_block_scope(int* x) {
  if (threadIdx.x == 0)
    atomicAdd_block(&x[0], 1); // races: atomics_of_block_scope
}
LAUNCHER(atomics_of_block_scope, 3, 64)

__global__ void scoped_atomics_across_blocks(int* x) {
  constexpr int block = __HIP_MEMORY_SCOPE_WORKGROUP;
  if (threadIdx.x == 0)
    __hip_atomic_fetch_add(x, 1, __ATOMIC_RELAXED, block); // races: scoped_atomics_across_blocks
}
LAUNCHER(scoped_atomics_across_blocks, 3, 64)

__global__ void atomics_of_block_scope_in_a_block(int* x) {
  BITGATE_LDS(Row, lds);
  if (threadIdx.x < 4)
    lds.cells[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd_block(&lds.cells[threadIdx.x & 3], 1);
  atomicAdd_block(&x[blockIdx.x], 1);
  __hip_atomic_fetch_add(&x[8], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
LAUNCHER(atomics_of_block_scope_in_a_block, 4, 64)

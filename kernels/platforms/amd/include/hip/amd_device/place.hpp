// Where a thread stands: threadIdx, blockIdx, blockDim, gridDim; and the block's barrier.
#pragma once

// Each name is one object whose members read a register, or a hidden kernel argument, when they are used.
#define BITGATE_AMD_PLACE(Name, read_x, read_y, read_z)                                                      \
  struct Name {                                                                                              \
    __declspec(property(get = get_x)) unsigned x;                                                            \
    __declspec(property(get = get_y)) unsigned y;                                                            \
    __declspec(property(get = get_z)) unsigned z;                                                            \
    static __device__ __forceinline__ unsigned get_x() {                                                     \
      return read_x;                                                                                         \
    }                                                                                                        \
    static __device__ __forceinline__ unsigned get_y() {                                                     \
      return read_y;                                                                                         \
    }                                                                                                        \
    static __device__ __forceinline__ unsigned get_z() {                                                     \
      return read_z;                                                                                         \
    }                                                                                                        \
  };

namespace bitgate_amd {

// Number of blocks along an axis: the first hidden arguments (code object version 5 and later).
__device__ __forceinline__ unsigned block_count(int axis) {
  using Hidden = const unsigned __attribute__((address_space(4)));
  return ((Hidden*)__builtin_amdgcn_implicitarg_ptr())[axis]; // no C++ cast changes address spaces
}

BITGATE_AMD_PLACE(ThreadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                  __builtin_amdgcn_workitem_id_z())
BITGATE_AMD_PLACE(BlockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                  __builtin_amdgcn_workgroup_id_z())
BITGATE_AMD_PLACE(BlockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_workgroup_size_z())
BITGATE_AMD_PLACE(GridDim, block_count(0), block_count(1), block_count(2))

} // namespace bitgate_amd
#undef BITGATE_AMD_PLACE

// Declared only: nothing is ever stored in them.
extern const __device__ __attribute__((weak)) bitgate_amd::ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) bitgate_amd::BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) bitgate_amd::BlockDim blockDim;
extern const __device__ __attribute__((weak)) bitgate_amd::GridDim gridDim;

// All threads of the block arrive, and see what the others wrote to LDS and global memory.
__device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ __forceinline__ void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
__device__ __forceinline__ void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}

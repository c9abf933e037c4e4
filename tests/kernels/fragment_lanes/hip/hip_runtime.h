// Stands in for HIP's header so that fragment headers for AMD GPUs compile for the CPU, one lane at a time.
// The matrix instructions do nothing: the test does their work, by the tables of the instruction set.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __host__
#define __device__
#define __forceinline__ inline

inline int current_lane = 0;
inline unsigned __lane_id() {
  return static_cast<unsigned>(current_lane);
}

#define __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, ...) (c)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, ...) (c)
#define __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, ...) (c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, ...) (c)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, ...) (c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c) (c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) (c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) (c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) (c)

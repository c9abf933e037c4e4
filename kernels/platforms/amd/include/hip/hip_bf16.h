// bfloat16 for device code without ROCm's headers: the compiler's own type, and HIP's names for what it does.
#pragma once

#include <hip/hip_runtime.h>

using __hip_bfloat16 = __bf16;

__host__ __device__ inline float __bfloat162float(__hip_bfloat16 value) {
  return static_cast<float>(value);
}
__host__ __device__ inline __hip_bfloat16 __float2bfloat16(float value) {
  return static_cast<__hip_bfloat16>(value);
}
__host__ __device__ inline __hip_bfloat16 __float2bfloat16_rn(float value) {
  return static_cast<__hip_bfloat16>(value);
}

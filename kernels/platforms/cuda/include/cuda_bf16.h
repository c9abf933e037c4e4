// CUDA's bfloat16 on HIP's: cuda_runtime.h says where this is used.
#pragma once

#include "cuda_runtime.h"

#include <hip/hip_bf16.h>

#define __nv_bfloat16 __hip_bfloat16
#define __nv_bfloat162 __hip_bfloat162
#define nv_bfloat16 __hip_bfloat16
#define nv_bfloat162 __hip_bfloat162

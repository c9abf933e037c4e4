// CUDA's half on HIP's: cuda_runtime.h says where this is used.
#pragma once

#include "cuda_runtime.h"

#include <hip/hip_fp16.h>

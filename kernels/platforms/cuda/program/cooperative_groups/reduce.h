// CUDA's name of HIP's cooperative groups.
#pragma once

#include <hip/hip_cooperative_groups.h>

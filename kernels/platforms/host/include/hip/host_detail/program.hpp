// Older words of HIP that whole programs use. bitgate-hipcc includes this first, and so do plain functions.
#pragma once

// Standard libraries write __attribute__((__noinline__)) here; it must be read before HIP makes it a macro.
#include <memory>
#include <string>

#ifndef hipThreadIdx_x
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
#endif
#ifndef __align__
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif

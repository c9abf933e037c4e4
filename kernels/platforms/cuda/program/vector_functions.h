// For sources in CUDA that include it: cuda_runtime.h has all of it.
#pragma once

#include "cuda_runtime.h"

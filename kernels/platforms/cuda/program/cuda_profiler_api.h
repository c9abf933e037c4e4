// Profiling is started and stopped by HIP's functions of these names.
#pragma once

#include <cuda_runtime.h>

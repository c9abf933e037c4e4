// What the host's units of kernels begin with, compiled once (bitgate.kernel.build.unit): headers that many
// of them include.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cmath>
#include <concepts>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"
#include "hip/hip_runtime.h"

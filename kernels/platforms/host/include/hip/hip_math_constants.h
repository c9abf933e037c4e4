// HIP's constants.
#pragma once

#include <cmath>

#define HIP_INF_F HUGE_VALF
#define HIP_NAN_F __builtin_nanf("")
#define HIP_INF HUGE_VAL
#define HIP_NAN __builtin_nan("")
#define HIP_PI_F 3.141592654f
#define HIP_PI 3.1415926535897931e+0
#define HIP_PIO2_F 1.570796327f
#define HIP_SQRT_TWO_F 1.414213562f

// Passes and element-wise operations by the codes that Python has for them: Pass.code, Elementwise.code.
#pragma once

namespace bitgate::native {

enum PassCode { FWD = 0, BWD_DATA = 1, BWD_WEIGHT = 2 };
enum ElementwiseCode { PASS = 0, SCALE = 1, BIAS = 2, ADD = 3, BILINEAR = 4, RELU = 5 };

} // namespace bitgate::native

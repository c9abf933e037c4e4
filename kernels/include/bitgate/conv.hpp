// A grouped convolution as the C ABI states it: fwd, bwd_data or bwd_weight, in 1 to 3 dimensions.
//
// Logical order of lengths and strides: in (G,N,C,I..), wei (G,K,C,F..), out (G,N,K,O..); K and C per group.
// bwd_data reads out and wei and writes in; bwd_weight reads in and out and writes wei. Attributes beside
// those of products.hpp, one number a spatial dimension:
//     stride, dilation = 1       left_pad, right_pad = 0
#pragma once

#include "bitgate/layout.hpp"
#include "bitgate/products.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

enum class Pass { fwd, bwd_data, bwd_weight };

inline const char* pass_name(Pass pass) noexcept {
  constexpr const char* names[] = {"fwd", "bwd_data", "bwd_weight"};
  return names[static_cast<int>(pass)];
}

struct ConvProblem : Products {
  Pass pass;
  int32_t ndim; // spatial dimensions
  int64_t stride[axes], dilation[axes], left_pad[axes], right_pad[axes];

  // split_n: chunks of images.
  static void begin(bitgate_dispatch_record& record) noexcept {
    Products::begin(record);
    note(record, "split_n", 1);
  }
};

// The tensor that the pass writes.
inline const bitgate_tensor& result_of(const ConvProblem& problem) noexcept {
  switch (problem.pass) {
  case Pass::bwd_data:
    return problem.in;
  case Pass::bwd_weight:
    return problem.wei;
  default:
    return problem.out;
  }
}

inline int32_t read(const bitgate_problem& problem, ConvProblem& to, bitgate_reason* reason) noexcept {
  ProblemReader reader(problem, reason);
  to.pass = std::strcmp(problem.operation, "fwd") == 0        ? Pass::fwd
            : std::strcmp(problem.operation, "bwd_data") == 0 ? Pass::bwd_data
                                                              : Pass::bwd_weight;
  read_products(reader, problem, to);
  check_access(reader, to, result_of(to));
  to.ndim = to.in.rank - 3;
  if (to.ndim < 1 || to.ndim > axes) {
    reader.fail(BITGATE_BAD_ARGUMENT, "problem", "in has rank %d: a convolution needs 4 to %d", to.in.rank,
                axes + 3);
    to.ndim = 1;
  }
  const struct {
    const char* name;
    int64_t* values;
    int64_t otherwise;
  } parts[] = {{"stride", to.stride, 1},
               {"dilation", to.dilation, 1},
               {"left_pad", to.left_pad, 0},
               {"right_pad", to.right_pad, 0}};
  for (const auto& part : parts) {
    for (int i = 0; i < axes; ++i)
      part.values[i] = part.otherwise;
    reader.integers(part.name, part.values, to.ndim);
  }
  return reader.finish();
}

using ConvRequest = Request<ConvProblem>;
using ConvInstance = Instance<ConvProblem>;
using ConvRegistration = Registration<ConvProblem>;

} // namespace bitgate

// What all probes share as instances of a kernel family: each is planned on the smallest problem there is, a
// convolution of one cell, which it does not compute: it measures the platform.
#pragma once

#include "bitgate/conv_predicates.hpp"
#include "bitgate/conv_shape.hpp"
#include "bitgate/registry.hpp"

namespace platform_probe {

inline int32_t supports(const bitgate::Request& request, bitgate_reason* reason) {
  bitgate::ConvShape shape;
  int32_t status = bitgate::read_conv(request.problem, shape, reason);
  if (status == BITGATE_OK)
    status =
        bitgate::check_dtypes(request.problem, {BITGATE_F32, BITGATE_F32, BITGATE_F32, BITGATE_F32}, reason);
  if (status != BITGATE_OK)
    return status;
  int64_t cells = 0;
  for (const bitgate_tensor* tensor : {&request.problem.in, &request.problem.wei, &request.problem.out})
    for (int axis = 0; axis < tensor->rank; ++axis)
      cells += tensor->lengths[axis] - 1;
  if (request.problem.ndim != 1 || cells != 0 || request.problem.num_d != 0)
    BITGATE_REFUSE(reason, "one_cell", "a probe of the platform is planned on a 1D convolution of one cell");
  return BITGATE_OK;
}

// `run` measures, `name` is the instance's.
inline bitgate::Instance instance(const char* name, int block_size,
                                  void (*run)(const bitgate::Request&, const bitgate_buffers&,
                                              bitgate::Context&)) {
  return {name,
          BITGATE_FWD,
          "f32",
          "nwgc",
          "f32",
          {0, 0, 0},
          {1, 1, 1},
          block_size,
          0,
          {0, 0, 0},
          0,
          supports,
          bitgate::no_workspace,
          run};
}

inline void note_path(bitgate_dispatch_record& record, const char* path) {
  std::snprintf(record.path, sizeof record.path, "%s", path);
  record.gemms_count = record.buckets = record.launches = 1;
}

} // namespace platform_probe

// What the naive kernels support and record, and what their instances say of themselves. Included by the
// library's own unit only.
#pragma once

#include "instances.hpp"

namespace bitgate {

template class Registration<ConvProblem>;

} // namespace bitgate

namespace naive_conv {

int32_t supports(const bitgate::ProductDtypes& codes, const bitgate::ConvRequest& request,
                 bitgate_reason* reason) {
  ConvShape shape;
  int32_t status = bitgate::read_conv(request.problem, shape, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_dtypes(request.problem, codes, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_operand_operations(request.problem, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_result_operation(request.problem, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_unsplit(request.problem, reason);
  return status;
}

// What the GEMM of the whole pass looks like, for the record.
bitgate::GemmPart whole_gemm(Pass pass, const ConvShape& shape) {
  const int64_t taps = bitgate::product(shape.filter), outputs = bitgate::product(shape.output);
  bitgate::GemmPart gemm{};
  switch (pass) {
  case Pass::fwd:
    gemm.m = shape.images * outputs, gemm.n = shape.k, gemm.k = shape.c * taps;
    break;
  case Pass::bwd_data:
    gemm.m = shape.images * bitgate::product(shape.input), gemm.n = shape.c, gemm.k = shape.k * taps;
    break;
  default:
    gemm.m = shape.k, gemm.n = shape.c * taps, gemm.k = shape.images * outputs;
  }
  return gemm;
}

void record_launch(const bitgate::ConvProblem& problem, const ConvShape& shape, unsigned blocks,
                   bitgate::Context& context) {
  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "naive");
  record.launches = 1;
  bitgate::note_gemms(record, 1, 1);
  bitgate::GemmPart gemm = whole_gemm(problem.pass, shape);
  gemm.launched = context.error == hipSuccess;
  gemm.blocks = blocks;
  for (int i = 0; i < problem.ndim; ++i)
    gemm.taps[i] = static_cast<int32_t>(shape.filter[axes - problem.ndim + i]);
  bitgate::add_part(record, gemm);
}

Texts::Texts(Pass pass, const bitgate::ProductDtypes& codes) {
  using bitgate::dtype_name;
  if (codes.wei != codes.in || codes.out != codes.in)
    std::snprintf(dtypes, sizeof dtypes, "%s_%s_%s", dtype_name(codes.in), dtype_name(codes.wei),
                  dtype_name(codes.out));
  else if (codes.compute != codes.in)
    std::snprintf(dtypes, sizeof dtypes, "%s_ct%s", dtype_name(codes.in), dtype_name(codes.compute));
  else
    std::snprintf(dtypes, sizeof dtypes, "%s", dtype_name(codes.in));
  const struct {
    const char* role;
    int32_t dtype;
  } own[] = {{"in", codes.in_compute}, {"wei", codes.wei_compute}, {"out", codes.out_compute}};
  for (const auto& part : own)
    if (const size_t length = std::strlen(dtypes); part.dtype != codes.compute)
      std::snprintf(dtypes + length, sizeof dtypes - length, "_ct%s%s", part.role, dtype_name(part.dtype));
  std::snprintf(name, sizeof name, "%s_%s", bitgate::pass_name(pass), dtypes);
}

bitgate::ConvInstance describe(const char* name, const char* dtypes, Pass pass, const char* accumulator,
                               decltype(bitgate::ConvInstance::supports) supports,
                               decltype(bitgate::ConvInstance::run) run) {
  return {{name,
           bitgate::pass_name(pass),
           dtypes,
           "nwgc,gnwc,ngcw,nhwgc,gnhwc,ngchw,ndhwgc,gndhwc,ngcdhw",
           accumulator,
           {0, 0, 0},
           {1, 1, 1},
           block_size,
           0,
           {0, 0, 0},
           0},
          supports,
          bitgate::no_workspace,
          run};
}

} // namespace naive_conv

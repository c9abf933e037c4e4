// How a forward convolution is cut and recorded. Included by the library's own unit only.
#pragma once

#include "dispatch.hpp"
#include "support.hpp"

namespace grouped_fwd {

Plan::Plan(const Facts& facts_, const bitgate::ConvRequest& request)
    : facts(facts_), problem(request.problem) {
  bitgate::read_conv(problem, shape, nullptr);
  chunks = chunks_of(facts, request);
  const Layout d_layout = problem.num_d > 0 ? bitgate::layout_of(problem.d[0], problem.ndim) : Layout{};
  geometry = make_geometry(shape, shape.images / chunks, problem.out_op, d_layout);
}

const char* Plan::kernel_name() const {
  if (facts.depth != 2)
    return "kernel_fwd";
  return loop == MainLoop::all ? "kernel_fwd_all" : "kernel_fwd_none";
}

dim3 Plan::grid() const {
  const int64_t blocks = ceil_div(rows_of(geometry), facts.tile_m) * ceil_div(shape.k, facts.tile_n);
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(shape.groups),
              static_cast<unsigned>(chunks));
}

void Plan::record(bool launched, bitgate_dispatch_record& record) const {
  std::snprintf(record.path, sizeof record.path, "%s", path_name(facts.special));
  record.launches = launched;
  bitgate::note_gemms(record, 1, 1);
  bitgate::note(record, "split_n", chunks);
  bitgate::note(record, "main_loop", main_loop_name(loop));
  bitgate::GemmPart entry{};
  entry.launched = launched;
  entry.main_loop = loop == MainLoop::all;
  for (int i = 0; i < problem.ndim; ++i)
    entry.taps[i] = static_cast<int32_t>(problem.wei.lengths[3 + i]);
  entry.m = shape.images * bitgate::product(shape.output);
  entry.n = shape.k;
  entry.k = shape.c * bitgate::product(shape.filter);
  entry.blocks = static_cast<int64_t>(grid().x) * chunks;
  bitgate::add_part(record, entry);
}

} // namespace grouped_fwd

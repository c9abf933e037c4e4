// How a GEMM of backward weight is cut and recorded. Included by the library's own unit only.
#pragma once

#include "dispatch.hpp"
#include "split_k.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

Job::Job(const ConvRequest& request_) : request(request_), d_layout{} {
  read_conv(request.problem, shape, nullptr);
  if (request.problem.num_d > 0)
    d_layout = layout_of(request.problem.d[0], request.problem.ndim);
}

namespace {

// Blocks of the GEMM without slices, groups included.
int64_t blocks_of(const Facts& facts, const Geometry& geometry) {
  return ceil_div(geometry.k, facts.tile_m) * ceil_div(columns_of(geometry), facts.tile_n);
}

MainLoop main_loop_of(const Geometry& geometry, int tile_k) {
  MainLoops loops;
  loops.add(static_cast<int32_t>(ceil_div(terms_of(geometry), tile_k)), geometry.slices);
  return loops.kind();
}

} // namespace

dim3 grid_of(const Facts& facts, const Job& job, const Geometry& geometry) {
  return dim3(static_cast<unsigned>(blocks_of(facts, geometry)),
              static_cast<unsigned>(job.shape.groups / facts.merge), static_cast<unsigned>(geometry.slices));
}

int32_t resolve_split_k(const Facts& facts, const Job& job, const Geometry& geometry, const void* kernel,
                        int threads, Context& context) {
  if (job.request.problem.split_k != BITGATE_SPLIT_K_AUTO)
    return job.request.problem.split_k;
  if (facts.c == code_of<int8_t>)
    return 1;
  const int64_t capacity = capacity_of(context, job.request.options, kernel, threads, facts.asked_lds);
  const int64_t grid = blocks_of(facts, geometry) * (job.shape.groups / facts.merge);
  return static_cast<int32_t>(automatic_split_k(capacity, grid, terms_of(geometry), facts.tile_k));
}

void record_gemm(const Facts& facts, const Job& job, const Geometry& geometry, const char* path,
                 bool launched, Context& context) {
  bitgate_dispatch_record& record = context.record;
  const Geometry whole = job.geometry();
  std::snprintf(record.path, sizeof record.path, "%s", path);
  note_gemms(record, 1, 1);
  note(record, "split_k", geometry.slices);
  note(record, "main_loop", main_loop_name(main_loop_of(geometry, facts.tile_k)));
  GemmPart entry{};
  entry.launched = launched;
  entry.main_loop = terms_of(geometry) > facts.tile_k;
  for (int i = 0; i < job.request.problem.ndim; ++i)
    entry.taps[i] = static_cast<int32_t>(job.request.problem.wei.lengths[3 + i]);
  entry.m = job.shape.k;
  entry.n = columns_of(whole);
  entry.k = terms_of(whole);
  entry.blocks = blocks_of(facts, geometry) * geometry.slices;
  add_part(record, entry);
}

Plan::Plan(const Facts& facts_, const ConvRequest& request, const void* kernel, Context& context)
    : facts(facts_), job(request), geometry(job.geometry(facts.merge)) {
  geometry.slices = resolve_split_k(facts, job, geometry, kernel, facts.block, context);
  loop = main_loop_of(geometry, facts.tile_k);
  grid = grid_of(facts, job, geometry);
}
void Plan::record(const char* path, int launches, int wanted, Context& context) const {
  record_gemm(facts, job, geometry, path, launches == wanted, context);
  context.record.launches = launches;
}

int64_t workspace_bytes(const ConvRequest& request) {
  return Job(request).cells().count * static_cast<int64_t>(sizeof(float));
}

} // namespace bitgate::implicit_gemm::bwd_weight

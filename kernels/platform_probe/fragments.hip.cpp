// Probes of matrix fragments. What they tell apart is in their tiles, so they are one kernel.
#include "fragments.hpp"
#include "probe_problem.hpp"

namespace {

int32_t supports(const platform_probe::ProbeRequest& request, bitgate_reason* reason) {
  if (request.problem.fragment >= platform_probe::fragment_count)
    BITGATE_REFUSE(reason, "fragment", "fragment %d: there are %d", request.problem.fragment,
                   platform_probe::fragment_count);
  return BITGATE_OK;
}

void run_fragment(const platform_probe::ProbeRequest& request, const platform_probe::ProbeBuffers& buffers,
                  bitgate::Context& context) {
  const platform_probe::ProbeProblem& problem = request.problem;
  platform_probe::fragments[problem.fragment].run(buffers, static_cast<unsigned>(problem.blocks),
                                                  problem.steps, context);
  platform_probe::note_path(context.record, "fragment");
}

constexpr int widest_wave = 64;
const platform_probe::ProbeRegistration subnormals{
    platform_probe::instance("subnormals", widest_wave, run_fragment, supports)};
const platform_probe::ProbeRegistration accumulators{
    platform_probe::instance("accumulators", widest_wave, run_fragment, supports)};
const platform_probe::ProbeRegistration lanes{
    platform_probe::instance("lanes", widest_wave, run_fragment, supports)};

} // namespace

int32_t bitgate_list_fragments(bitgate_fragment_info* out, int32_t capacity) noexcept {
  for (int32_t i = 0; i < platform_probe::fragment_count && i < capacity; ++i)
    out[i] = platform_probe::fragments[i].info;
  return platform_probe::fragment_count;
}

// Probes of matrix fragments. What they tell apart is in their tiles, so they are one kernel.
#include "fragments.hpp"
#include "one_cell.hpp"

namespace {

void run_fragment(const bitgate::Request& request, const bitgate_buffers& buffers,
                  bitgate::Context& context) {
  const auto index = request.options.integer("fragment");
  const auto blocks = static_cast<unsigned>(request.options.integer("blocks"));
  const auto steps = static_cast<int32_t>(request.options.integer("steps"));
  if (index >= platform_probe::fragment_count) {
    context.error = hipErrorInvalidValue;
    return;
  }
  platform_probe::fragments[index].run(buffers, blocks, steps, context);
  platform_probe::note_path(context.record, "fragment");
}

constexpr int widest_wave = 64;
const bitgate::Registration subnormals{platform_probe::instance("subnormals", widest_wave, run_fragment)};
const bitgate::Registration accumulators{platform_probe::instance("accumulators", widest_wave, run_fragment)};
const bitgate::Registration lanes{platform_probe::instance("lanes", widest_wave, run_fragment)};

} // namespace

int32_t bitgate_list_fragments(bitgate_fragment_info* out, int32_t capacity) noexcept {
  for (int32_t i = 0; i < platform_probe::fragment_count && i < capacity; ++i)
    out[i] = platform_probe::fragments[i].info;
  return platform_probe::fragment_count;
}

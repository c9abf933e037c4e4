// What a probe of the platform is asked for, operation "probe". Tensors, each optional but for the last:
//     a, b      tiles of the operands, as fragments.hip.cpp says
//     repeats   i32: how often each pair of tiles is multiplied
//     figures   what is written: sums, or 32-bit words
// Attributes: fragment = 0 (its place in bitgate_list_fragments), blocks = 1 (each with its own tiles),
// steps = 1 (tiles that a block sums, one behind the other), wave = 0 (lanes of a wave, where they can be
// chosen; 0: the device's own).
#pragma once

#include "bitgate/problem.hpp"
#include "bitgate/registry.hpp"

namespace platform_probe {

struct ProbeBuffers {
  const void* a;
  const void* b;
  const int32_t* repeats;
  void* figures;
};

struct ProbeProblem {
  using Buffers = ProbeBuffers;
  int32_t fragment, blocks, steps, wave;
};

using ProbeRequest = bitgate::Request<ProbeProblem>;
using ProbeInstance = bitgate::Instance<ProbeProblem>;
using ProbeRegistration = bitgate::Registration<ProbeProblem>;

inline constexpr int32_t most = 65535; // blocks, and steps of each

inline int32_t read(const bitgate_problem& problem, ProbeProblem& to, bitgate_reason* reason) noexcept {
  bitgate::ProblemReader reader(problem, reason);
  bitgate_tensor tensor;
  for (const char* role : {"a", "b", "repeats"})
    reader.optional_tensor(role, tensor);
  reader.tensor("figures", tensor);
  to = {0, 1, 1, 0};
  const struct {
    const char* name;
    int32_t& value;
    int32_t least, most;
  } parts[] = {{"fragment", to.fragment, 0, most},
               {"blocks", to.blocks, 1, most},
               {"steps", to.steps, 1, most},
               {"wave", to.wave, 0, 64}};
  for (const auto& part : parts) {
    reader.integer(part.name, part.value);
    if (part.value < part.least || part.value > part.most)
      reader.fail(BITGATE_BAD_ARGUMENT, "problem", "%s = %d is outside %d..%d", part.name, part.value,
                  part.least, part.most);
  }
  return reader.finish();
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         ProbeBuffers& to) noexcept {
  to.a = bitgate::buffer_of(problem, buffers, "a");
  to.b = bitgate::buffer_of(problem, buffers, "b");
  to.repeats = static_cast<const int32_t*>(bitgate::buffer_of(problem, buffers, "repeats"));
  to.figures = bitgate::buffer_of(problem, buffers, "figures");
}

inline int32_t supports(const ProbeRequest&, bitgate_reason*) {
  return BITGATE_OK;
}

// `run` measures, `name` is the instance's.
inline ProbeInstance instance(const char* name, int block_size, decltype(ProbeInstance::run) run,
                              decltype(ProbeInstance::supports) supports = platform_probe::supports) {
  return {{name, "probe", "f32", "nwgc", "f32", {0, 0, 0}, {1, 1, 1}, block_size, 0, {0, 0, 0}, 0},
          supports,
          bitgate::no_workspace,
          run};
}

inline void note_path(bitgate_dispatch_record& record, const char* path) {
  std::snprintf(record.path, sizeof record.path, "%s", path);
  record.launches = 1;
}

} // namespace platform_probe

// A forward convolution that changes with time: the naive kernel first, then a loop that only takes time,
// then, in the launches that are named, one that does harm.
#include "../../../kernels/naive_conv/instances.hpp"
#include "../../../kernels/naive_conv/whole.hpp"
#include "bitgate/library.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

namespace {

using Types = naive_conv::Types<float>;

const bitgate::Option options[] = {
    {"turns", "int", "0", "of a loop that only takes time", 0, 1000000000},
    {"harm", "nothing,wrong,past,input,stops,rests,skips,peeks,late,kept,abort,sleeps", "nothing",
     "what it does beside its work"},
    {"from", "int", "1", "the first launch that does it", 1, 1000000000},
    {"until", "int", "1000000000", "the last one", 1, 1000000000},
    {"on", "second,first,both", "second", "the instance that does it"},
};

__global__ void write_one(float* cells, int64_t at, float value) {
  cells[at] = value;
}

// A chain that no compiler shortens, since what comes of it might be stored.
__global__ void take_time(float* cells, int64_t turns) {
  uint64_t word = 1;
  for (int64_t turn = 0; turn < turns; ++turn)
    word = word * 6364136223846793005u + 1442695040888963407u;
  if (word == 0)
    cells[0] = 0;
}

int64_t cells_of(const bitgate_tensor& tensor) {
  int64_t space = 1;
  for (int i = 0; i < tensor.rank; ++i)
    space += (tensor.lengths[i] - 1) * tensor.strides[i];
  return space;
}

template <bool is_second>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  static int64_t launches = 0;
  ++launches;
  const bitgate::Options& stated = request.options;
  const bool named = stated.is("on", "both") || stated.is("on", is_second ? "second" : "first");
  const bool harms = named && launches >= stated.integer("from") && launches <= stated.integer("until");
  const auto does = [&](const char* what) { return harms && stated.is("harm", what); };
  const dim3 one(1);
  auto* const out = static_cast<float*>(buffers.out);
  if (does("abort"))
    std::abort();
  if (does("sleeps"))
    std::this_thread::sleep_for(std::chrono::minutes(20));
  // Neither looks wrong where the launch before has left the result.
  const bool rests = does("rests") && launches % 2;
  const bool skips = does("skips") && std::isfinite(out[0]);
  static float ends[2] = {NAN, NAN}; // of the result
  const int64_t last = cells_of(request.problem.out) - 1;
  const bool peeks = does("peeks") && out[0] == ends[0] && out[last] == ends[1];
  if (does("stops") || rests || skips || peeks) {
    std::snprintf(context.record.path, sizeof context.record.path, "naive");
    context.record.launches = 1;
    bitgate::note_gemms(context.record, 1, 1);
    return;
  }
  const hipStream_t callers = context.stream;
  if (does("late") && hipStreamCreateWithFlags(&context.stream, hipStreamNonBlocking) != hipSuccess)
    std::abort();
  naive_conv::run<Types>(request, buffers, context);
  context.stream = callers;
  if (const int64_t turns = stated.integer("turns")) {
    bitgate::launch(context, "take_time", take_time, one, one, 0, out, turns);
    ++context.record.launches;
  }
  if (does("kept")) { // what went to this address first is the result for ever
    static std::map<float*, std::vector<float>> known;
    (void)hipStreamSynchronize(context.stream);
    const auto cells = static_cast<size_t>(request.problem.out.lengths[1] * request.problem.out.strides[1]);
    if (auto found = known.find(out); found != known.end())
      (void)hipMemcpy(out, found->second.data(), cells * sizeof(float), hipMemcpyHostToDevice);
    else
      known[out].assign(out, out + cells);
  }
  if (does("peeks") && hipStreamSynchronize(context.stream) == hipSuccess) {
    ends[0] = out[0];
    ends[1] = out[last];
  }
  if (does("wrong"))
    bitgate::launch(context, "write_one", write_one, one, one, 0, out, int64_t{5}, 77777.0f);
  if (does("input"))
    bitgate::launch(context, "write_one", write_one, one, one, 0, static_cast<float*>(buffers.in), int64_t{3},
                    77777.0f);
  if (does("past")) {
    const int64_t behind = cells_of(request.problem.out);
    bitgate::launch(context, "write_one", write_one, one, one, 0, out, behind, 77777.0f);
  }
}

template <bool is_second> bitgate::ConvInstance described(const char* name) {
  bitgate::ConvInstance instance = naive_conv::instance<Types>(name, "f32", bitgate::Pass::fwd, "f32");
  instance.layouts = "nhwgc";
  instance.run = run<is_second>;
  return instance;
}

const bitgate::ConvRegistration first{described<false>("first")}, second{described<true>("second")};

} // namespace

namespace bitgate {
const Family family{"changing", options, 5};
} // namespace bitgate

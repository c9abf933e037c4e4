// A forward convolution that can be told to misbehave: the naive kernel first, then one that does the harm.
#include "../../../kernels/naive_conv/whole.hpp"
#include "bitgate/library.hpp"

#include <cstdlib>
#include <vector>

namespace {

using Types = naive_conv::Types<float>;

const bitgate::Option options[] = {
    {"illness",
     "none,wrong,past,before,input,gap,race,idle,hang,abort,fail,record,third,cached,kept,later,more,less,"
     "blind",
     "none", "what goes wrong"},
};

// `at` is an element of `cells`, anywhere.
__global__ void write_one(float* cells, int64_t at, float value) {
  if (threadIdx.x == 0)
    cells[at] = value;
}

// Every thread writes the same cell: the last one wins.
__global__ void write_all(float* cells) {
  cells[0] = static_cast<float>(threadIdx.x);
}

__global__ void spin(volatile float* cells) {
  while (cells[0] != 123456.0f) {
  }
}

int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  if (request.options.is("illness", "more"))
    BITGATE_REFUSE(reason, "mood", "the library does not feel like it");
  const auto& stride = request.problem.stride;
  if (request.options.is("illness", "blind") && stride[request.problem.ndim - 1] != 1)
    BITGATE_REFUSE(reason, "stride_1", "the last axis has a stride");
  if (request.problem.in.lengths[2] % 2)
    BITGATE_REFUSE(reason, "c_even", "C = %lld is odd",
                   static_cast<long long>(request.problem.in.lengths[2]));
  return naive_conv::supports<Types>(request, reason);
}

void harm(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate_tensor& y = request.problem.out;
  float* out = static_cast<float*>(buffers.out);
  int64_t space = 1, row = y.lengths[0] * y.lengths[2];
  for (int i = 0; i < y.rank; ++i)
    space += (y.lengths[i] - 1) * y.strides[i];
  const dim3 one(1), block(64);
  const auto is = [&](const char* what) { return request.options.is("illness", what); };
  const auto poke = [&](float* cells, int64_t at) {
    bitgate::launch(context, "write_one", write_one, one, block, 0, cells, at, 77777.0f);
  };
  if (is("wrong"))
    poke(out, 5);
  else if (is("past"))
    poke(out, space);
  else if (is("before"))
    poke(out, -1);
  else if (is("input"))
    poke(static_cast<float*>(buffers.in), 3);
  else if (is("gap"))
    poke(out, row); // rows are (g, k): what follows them is the gap
  else if (is("race"))
    bitgate::launch(context, "write_all", write_all, one, block, 0, out);
  else if (is("hang"))
    bitgate::launch(context, "spin", spin, one, one, 0, out);
  else if (is("abort"))
    std::abort();
  else if (is("fail"))
    context.error = hipErrorInvalidValue;
  else if (is("record"))
    context.record.launches = 7;
  else if (is("later")) {
    static int launches = 0;
    if (++launches > 2)
      poke(out, space);
  } else if (is("third")) {
    static int launches = 0;
    if (++launches > 2)
      poke(out, 5);
  } else if (is("cached") || is("kept")) {
    // The first result that this shape had, or that went to this address, is the result for ever.
    static std::vector<float> remembered(static_cast<size_t>(space));
    static void* known_at = nullptr;
    const bool known = known_at != nullptr && (known_at == out || is("cached"));
    const auto bytes = remembered.size() * sizeof(float);
    (void)hipStreamSynchronize(context.stream);
    if (known)
      (void)hipMemcpy(out, remembered.data(), bytes, hipMemcpyHostToDevice);
    else
      (void)hipMemcpy(remembered.data(), out, bytes, hipMemcpyDeviceToHost);
    known_at = out;
  }
}

void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  if (request.options.is("illness", "idle")) {
    std::snprintf(context.record.path, sizeof context.record.path, "naive");
    context.record.launches = 1;
    bitgate::note_gemms(context.record, 1, 1);
    return;
  }
  naive_conv::run<Types>(request, buffers, context);
  harm(request, buffers, context);
}

bitgate::ConvInstance described() {
  bitgate::ConvInstance instance = naive_conv::instance<Types>("fwd_f32", "f32", bitgate::Pass::fwd, "f32");
  instance.supports = supports;
  instance.run = run;
  return instance;
}

const bitgate::ConvRegistration fwd{described()};

} // namespace

namespace bitgate {
const Family family{"unhealthy", options, 1};
} // namespace bitgate

// A forward convolution with four instances: one is well; one is wrong where four conditions meet; one ends
// its process; one refuses more than its declaration says.
#include "../../../kernels/naive_conv/whole.hpp"
#include "bitgate/library.hpp"

#include <cstdlib>

namespace {

using Floats = naive_conv::Types<float>;

__global__ void write_one(float* cells) {
  if (threadIdx.x == 0)
    cells[0] = 77777.0f;
}

bool is_bad_mood(const bitgate::ConvProblem& problem) {
  const int last = problem.ndim - 1;
  return problem.in.lengths[0] == 1 && problem.wei.lengths[1] % 8 != 0 && problem.stride[last] > 1 &&
         problem.left_pad[last] > 0;
}

void run_wrong(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers,
               bitgate::Context& context) {
  naive_conv::run<Floats>(request, buffers, context);
  if (is_bad_mood(request.problem))
    bitgate::launch(context, "write_one", write_one, dim3(1), dim3(64), 0, static_cast<float*>(buffers.out));
}

void run_dies(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers,
              bitgate::Context& context) {
  if (request.problem.in.lengths[0] > 1 && request.problem.ndim == 2)
    std::abort();
  naive_conv::run<Floats>(request, buffers, context);
}

int32_t supports_less(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  if (request.problem.in.lengths[2] == 3)
    BITGATE_REFUSE(reason, "c_vector", "C = %lld", static_cast<long long>(request.problem.in.lengths[2]));
  return naive_conv::supports<Floats>(request, reason);
}

bitgate::ConvInstance described(const char* name, decltype(bitgate::ConvInstance::run) run,
                                decltype(bitgate::ConvInstance::supports) supports) {
  return {{name,
           "fwd",
           "f32",
           "nwgc,gnwc,ngcw,nhwgc,gnhwc,ngchw,ndhwgc,gndhwc,ngcdhw",
           "f32",
           {0, 0, 0},
           {1, 1, 1},
           naive_conv::block_size,
           0,
           {0, 0, 0},
           0},
          supports,
          bitgate::no_workspace,
          run};
}

const bitgate::ConvRegistration registrations[] = {
    bitgate::ConvRegistration(described("well", naive_conv::run<Floats>, naive_conv::supports<Floats>)),
    bitgate::ConvRegistration(described("wrong", run_wrong, naive_conv::supports<Floats>)),
    bitgate::ConvRegistration(described("dies", run_dies, naive_conv::supports<Floats>)),
    bitgate::ConvRegistration(described("denies", naive_conv::run<Floats>, supports_less)),
};

} // namespace

namespace bitgate {
const Family family{"flaky", nullptr, 0};
} // namespace bitgate

// A library around the naive kernel that misuses the runtime on request: it clears errors, frees what is not
// its own, leaves work behind, passes host pointers, changes how floats are computed, trusts memory that
// nobody wrote.
#include "../../../kernels/naive_conv/whole.hpp"
#include "bitgate/library.hpp"

#include <xmmintrin.h>

namespace {

const bitgate::Option options[] = {
    {"hides",
     "nothing,own_memory,full_memory,left_error,null,late_fault,launch,unread,copy,double_free,foreign_free,"
     "lent_free,"
     "reset",
     "nothing", "an error that it clears before it returns OK"},
    {"leaves", "nothing,joined_stream,stream,destroyed_stream,null_stream,no_stream", "nothing",
     "work that nobody waits for"},
    {"trusts", "nothing,host_pointer,scratch,lds,lane,luck,idle", "nothing",
     "memory that is not what it takes it for"},
    {"changes", "nothing,flush,round", "nothing", "how floats are computed"},
    {"asks", "nothing,negative,status,more,less,huge,fault,work,modest_alone,more_alone,huge_alone",
     "nothing", "for this much workspace"},
};

__global__ void add(float* cells, const float* value) {
  cells[0] += value[0];
}

__global__ void set_control(unsigned bits) {
  _mm_setcsr(_mm_getcsr() | bits);
}

// The sum of everything in memory that nobody wrote: with NaN there, fmax takes it for zero.
__global__ void add_scratch(float* cells, const float* scratch) {
  cells[0] += __builtin_fmaxf(scratch[0], 0.0f);
}

__global__ void add_lds(float* cells) {
  struct Lds {
    float value;
  };
  BITGATE_LDS(Lds, lds);
  cells[0] += __builtin_fmaxf(lds.value, 0.0f);
}

// A block of one thread: there is no lane 1.
__global__ void add_lane(float* cells) {
  cells[0] += __shfl(cells[0], 1);
}

// Gives cells that hold `value` what they held before anybody wrote them.
__global__ void unwrite(int8_t* cells, int64_t count, const int8_t* before, int8_t value) {
  for (int64_t at = threadIdx.x; at < count; at += blockDim.x)
    if (cells[at] == value)
      cells[at] = before[0];
}

int64_t workspace_bytes(const bitgate::ConvRequest& request) {
  const auto is = [&](const char* what) { return request.options.is("asks", what); };
  if (request.options.is("trusts", "scratch") || is("modest_alone"))
    return 256;
  if (is("fault") || is("work")) {
    hipLaunchKernelGGL(add, dim3(1), dim3(1), 0, nullptr, static_cast<float*>(nullptr),
                       static_cast<const float*>(nullptr));
    if (is("fault"))
      (void)hipDeviceSynchronize(), (void)hipGetLastError();
    return 256;
  }
  if (is("negative"))
    return -1000;
  if (is("status"))
    return -BITGATE_HIP_ERROR;
  if (is("more"))
    return 512;
  if (is("more_alone"))
    return 1 << 20;
  return is("huge") || is("huge_alone") ? int64_t{1} << 50 : 0;
}

const dim3 one(1);

void on_another_stream(const bitgate::Buffers& buffers, bool destroy, hipStream_t waits) {
  static float* zero = nullptr;
  if (!zero) {
    (void)hipMalloc(reinterpret_cast<void**>(&zero), 4);
    (void)hipMemset(zero, 0, 4);
    (void)hipDeviceSynchronize();
  }
  hipStream_t other;
  hipEvent_t done;
  (void)hipStreamCreateWithFlags(&other, hipStreamNonBlocking);
  (void)hipEventCreate(&done);
  if (waits) { // in order on both sides, and no launch that the record would have to list
    (void)hipEventRecord(done, waits);
    (void)hipStreamWaitEvent(other, done, 0);
    (void)hipMemcpyAsync(zero, buffers.out, 4, hipMemcpyDeviceToDevice, other);
  } else {
    hipLaunchKernelGGL(add, one, one, 0, other, static_cast<float*>(buffers.out), zero);
  }
  (void)hipEventRecord(done, other);
  if (waits)
    (void)hipStreamWaitEvent(waits, done, 0);
  if (destroy)
    (void)hipStreamDestroy(other);
}

// Errors are cleared at the end, but for those that are left for whoever asks next.
void hide(const bitgate::Options& options, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const auto is = [&](const char* what) { return options.is("hides", what); };
  hipStream_t const stream = context.stream;
  auto* const out = static_cast<float*>(buffers.out);
  void* own = nullptr;
  if (is("full_memory"))
    (void)hipMalloc(&own, size_t{1} << 60);
  else if (is("left_error"))
    (void)hipSetDevice(4711);
  else if (is("own_memory") && hipMalloc(&own, 64) == hipSuccess)
    (void)hipFree(own);
  else if (is("null"))
    hipLaunchKernelGGL(add, one, one, 0, stream, out, static_cast<const float*>(nullptr));
  else if (is("late_fault"))
    hipLaunchKernelGGL(add, one, one, 0, nullptr, out, static_cast<const float*>(nullptr));
  else if (is("launch") || is("unread"))
    hipLaunchKernelGGL(add, one, dim3(4096), 0, stream, out, out);
  else if (is("copy"))
    (void)hipMemcpy(out, buffers.in, size_t{1} << 30, hipMemcpyDeviceToDevice);
  else if (is("double_free") && hipMalloc(&own, 64) == hipSuccess)
    (void)hipFree(own), (void)hipFree(own);
  else if (is("foreign_free"))
    (void)hipFree(&own);
  else if (is("lent_free"))
    (void)hipFree(buffers.wei);
  else if (is("reset"))
    (void)hipDeviceReset();
  if (is("nothing")) { // as many libraries do behind their launches
    context.error = hipGetLastError();
    return;
  }
  if (!is("late_fault") && !is("unread"))
    (void)hipDeviceSynchronize();
  if (!is("unread") && !is("left_error"))
    (void)hipGetLastError();
}

void leave(const bitgate::Options& options, const bitgate::Buffers& buffers, hipStream_t stream) {
  const auto is = [&](const char* what) { return options.is("leaves", what); };
  if (is("null_stream"))
    (void)hipMemsetAsync(buffers.out, 0, 4, nullptr);
  else if (is("no_stream"))
    (void)hipStreamDestroy(stream);
  else if (!is("nothing"))
    on_another_stream(buffers, !is("stream"), is("joined_stream") ? stream : nullptr);
}

void trust(const bitgate::Options& options, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const auto is = [&](const char* what) { return options.is("trusts", what); };
  auto* const out = static_cast<float*>(buffers.out);
  static const float nothing = 0;
  if (is("host_pointer"))
    bitgate::launch(context, "add", add, one, one, 0, out, &nothing);
  else if (is("scratch"))
    bitgate::launch(context, "add_scratch", add_scratch, one, one, 0, out,
                    static_cast<const float*>(buffers.workspace));
  else if (is("lds"))
    bitgate::launch(context, "add_lds", add_lds, one, one, 0, out);
  else if (is("lane"))
    bitgate::launch(context, "add_lane", add_lane, one, one, 0, out);
  if (options.is("changes", "flush"))
    bitgate::launch(context, "set_control", set_control, one, one, 0, 0x8040u);
  else if (options.is("changes", "round"))
    bitgate::launch(context, "set_control", set_control, one, one, 0, 0x6000u);
}

template <class Types>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  const bitgate::Options& options = request.options;
  if (options.is("trusts", "idle")) {
    std::snprintf(context.record.path, sizeof context.record.path, "naive");
    context.record.launches = 1;
    bitgate::note_gemms(context.record, 1, 1);
    return;
  }
  void* before = nullptr;
  if (options.is("trusts", "luck") && hipMalloc(&before, 1) == hipSuccess)
    bitgate::copy_async(context, "before", before, buffers.out, 1);
  naive_conv::run<Types>(request, buffers, context);
  if (before) {
    const bitgate_tensor& y = request.problem.out;
    int64_t cells = 1;
    for (int axis = 0; axis < y.rank; ++axis)
      cells *= y.lengths[axis];
    bitgate::launch(context, "unwrite", unwrite, one, dim3(64), 0, static_cast<int8_t*>(buffers.out), cells,
                    static_cast<const int8_t*>(before), static_cast<int8_t>(0xA5));
    (void)hipFreeAsync(before, context.stream);
  }
  trust(options, buffers, context);
  leave(options, buffers, context.stream);
  hide(options, buffers, context);
}

template <class T> bitgate::ConvInstance described(const char* name, const char* accumulator) {
  using Types = naive_conv::Types<T>;
  bitgate::ConvInstance instance = naive_conv::instance<Types>(name, name, bitgate::Pass::fwd, accumulator);
  instance.layouts = "nhwgc";
  instance.workspace_bytes = workspace_bytes;
  instance.run = run<Types>;
  return instance;
}

const bitgate::ConvRegistration f32{described<float>("f32", "f32")}, i8{described<int8_t>("i8", "i32")};

} // namespace

namespace bitgate {
const Family family{"fault_injected", options, 5};
} // namespace bitgate

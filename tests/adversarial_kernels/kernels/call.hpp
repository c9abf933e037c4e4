// What every bad kernel is made of: one healthy kernel, a call of it by bitgate, and a macro that registers
// one.
//
//   y[g,n,k,i] = sum_c x[g,n,c,i] * w[g,k,c]        1x1 filters, stride 1, no padding, f32
#pragma once

#include <chrono>

#include "bitgate/conv_shape.hpp"
#include "bitgate/product_predicates.hpp"

namespace adversarial {

using bitgate::axes;
using bitgate::Cell;
using bitgate::ConvShape;
using bitgate::offset_of;

inline constexpr int block_size = 64;

// One call of bitgate_run, with the tensors by name.
struct Call {
  const bitgate::ConvRequest& request;
  const bitgate::Buffers& buffers;
  bitgate::Context& context;
  ConvShape shape;
  const float* x;
  const float* w;
  float* y;
  int64_t cells; // of y

  Call(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context);
};

// Where the cell of that number lies in each tensor; `c` is to be added to the operands.
struct Place {
  int64_t x, w, y;
};

BITGATE_HD inline Place place_of(const ConvShape& shape, int64_t cell) {
  int64_t rest = cell / shape.k;
  Cell at_y{.column = cell % shape.k}, at_x;
  for (int axis = axes - 1; axis >= 0; --axis) {
    at_x.at[axis] = at_y.at[axis] = rest % shape.output[axis];
    rest /= shape.output[axis];
  }
  at_x.row = at_y.row = rest % shape.images;
  at_x.group = at_y.group = rest / shape.images;
  return {offset_of(shape.x, at_x), offset_of(shape.w, {at_y.group, at_y.column}), offset_of(shape.y, at_y)};
}

BITGATE_HD inline float sum_of(const float* x, const float* w, const Place& place, const ConvShape& shape) {
  float sum = 0;
  for (int64_t c = 0; c < shape.c; ++c)
    sum += x[place.x + c * shape.x.column] * w[place.w + c * shape.w.column];
  return sum;
}

int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason);

// Writes what ran into the record, as the declaration predicts it.
void record(Call& call);

// The healthy kernel on a stream, not recorded among the launches.
void compute(Call& call, hipStream_t stream, float* y);

// What a right kernel does: one launch, and its record.
void healthy(Call& call);

// A record of a launch, and zeros for a result.
inline void leaves_zeros(Call& call) {
  record(call);
  (void)hipMemsetAsync(call.y, 0, static_cast<std::size_t>(call.cells) * sizeof(float), call.context.stream);
}

inline dim3 blocks_of(const Call& call) {
  return dim3(static_cast<unsigned>((call.cells + block_size - 1) / block_size));
}

// A kernel of a few threads that goes wrong, next to the healthy one.
template <class... Params, class... Args>
void beside(Call& call, const char* name, void (*kernel)(Params...), const Args&... args) {
  bitgate::launch(call.context, name, kernel, dim3(1), dim3(block_size), 0, args...);
}

template <void (*act)(Call&)>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  Call call(request, buffers, context);
  act(call);
}

bitgate::ConvInstance
described(const char* name, decltype(bitgate::ConvInstance::run) run,
          decltype(bitgate::ConvInstance::supports) supports = adversarial::supports,
          decltype(bitgate::ConvInstance::workspace_bytes) workspace = bitgate::no_workspace);

// Nothing here lasts for ever: a bad kernel that is not ended must not keep a machine busy.
inline constexpr double longest_seconds = 30;

inline bool is_over(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > longest_seconds;
}

inline void spin() {
  for (const auto start = std::chrono::steady_clock::now(); !is_over(start);) {
  }
}

} // namespace adversarial

// BAD_KERNEL(name) { ... } is an instance of that name; the body is its bitgate_run.
#define BAD_KERNEL(name)                                                                                     \
  static void name(adversarial::Call&);                                                                      \
  static const bitgate::ConvRegistration name##_registered{                                                  \
      adversarial::described(#name, adversarial::run<name>)};                                                \
  static void name([[maybe_unused]] adversarial::Call& call)

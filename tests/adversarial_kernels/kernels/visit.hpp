// What every exhibit is made of: one healthy kernel, a visit of it by bitgate, and a macro that hangs an
// exhibit up.
//
//   y[g,n,k,i] = sum_c x[g,n,c,i] * w[g,k,c]        1x1 filters, stride 1, no padding, f32
#pragma once

#include <chrono>

#include "bitgate/conv_shape.hpp"
#include "bitgate/product_predicates.hpp"

namespace museum {

using bitgate::axes;
using bitgate::Cell;
using bitgate::ConvShape;
using bitgate::offset_of;

inline constexpr int block_size = 64;

// One call of bitgate_run, with the tensors by name.
struct Visit {
  const bitgate::ConvRequest& request;
  const bitgate::Buffers& buffers;
  bitgate::Context& context;
  ConvShape shape;
  const float* x;
  const float* w;
  float* y;
  int64_t cells; // of y

  Visit(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context);
};

// Where the cell of that number lies in each tensor; `c` is to be added to the operands.
struct Place {
  int64_t x, w, y;
};

__device__ inline Place place_of(const ConvShape& shape, int64_t cell) {
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

__device__ inline float sum_of(const float* x, const float* w, const Place& place, const ConvShape& shape) {
  float sum = 0;
  for (int64_t c = 0; c < shape.c; ++c)
    sum += x[place.x + c * shape.x.column] * w[place.w + c * shape.w.column];
  return sum;
}

int32_t supports(const bitgate::ConvRequest& request, bitgate_reason* reason);

// Writes what ran into the record, as the declaration predicts it.
void record(Visit& visit);

// The healthy kernel on a stream, not recorded among the launches.
void compute(Visit& visit, hipStream_t stream, float* y);

// What a right kernel does: one launch, and its record.
void healthy(Visit& visit);

inline dim3 blocks_of(const Visit& visit) {
  return dim3(static_cast<unsigned>((visit.cells + block_size - 1) / block_size));
}

// A kernel of a few threads that goes wrong, beside the healthy one.
template <class... Params, class... Args>
void beside(Visit& visit, const char* name, void (*kernel)(Params...), const Args&... args) {
  bitgate::launch(visit.context, name, kernel, dim3(1), dim3(block_size), 0, args...);
}

template <void (*act)(Visit&)>
void run(const bitgate::ConvRequest& request, const bitgate::Buffers& buffers, bitgate::Context& context) {
  Visit visit(request, buffers, context);
  act(visit);
}

bitgate::ConvInstance
described(const char* name, decltype(bitgate::ConvInstance::run) run,
          decltype(bitgate::ConvInstance::supports) supports = museum::supports,
          decltype(bitgate::ConvInstance::workspace_bytes) workspace = bitgate::no_workspace);

// Nothing here lasts for ever: if nobody ends it, a museum must not keep a machine busy.
inline constexpr double longest_seconds = 30;

inline bool is_over(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > longest_seconds;
}

inline void spin() {
  for (const auto start = std::chrono::steady_clock::now(); !is_over(start);) {
  }
}

} // namespace museum

// EXHIBIT(name) { ... } is an instance of that name; the body is its bitgate_run.
#define EXHIBIT(name)                                                                                        \
  static void name(museum::Visit&);                                                                          \
  static const bitgate::ConvRegistration name##_registered{museum::described(#name, museum::run<name>)};     \
  static void name([[maybe_unused]] museum::Visit& visit)

// Kernels whose bits are wrong: always, at some launches, or by what lay in memory before.
#pragma once

#include <map>
#include <vector>

#include "call.hpp"

namespace adversarial {

__global__ void add_one(float* cells, int64_t index) {
  if (threadIdx.x == 0)
    cells[index] += 1;
}

BAD_KERNEL(wrong_cell) {
  healthy(call);
  beside(call, "add_one", add_one, call.y, call.cells / 2);
}

BAD_KERNEL(does_nothing) {
  record(call);
}

BAD_KERNEL(clears_the_result) {
  bitgate::memset_async(call.context, "clear", call.y, 0, static_cast<size_t>(call.cells) * sizeof(float));
  record(call);
}

__global__ void __launch_bounds__(block_size)
    all_but_the_last(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells - 1)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] = sum_of(x, w, place, shape);
}

BAD_KERNEL(leaves_a_cell_unwritten) {
  bitgate::launch(call.context, "all_but_the_last", all_but_the_last, blocks_of(call), dim3(block_size), 0,
                  call.x, call.w, call.y, call.shape, call.cells);
  record(call);
}

// Each launch of these in a process has a number, from 1.
static void wrong_if(Call& call, bool is_wrong) {
  healthy(call);
  if (is_wrong)
    beside(call, "add_one", add_one, call.y, call.cells / 2);
}

BAD_KERNEL(wrong_at_the_first_launch) {
  static int number = 0;
  wrong_if(call, ++number == 1);
}

BAD_KERNEL(wrong_at_the_second_launch) {
  static int number = 0;
  wrong_if(call, ++number == 2);
}

BAD_KERNEL(wrong_from_the_third_launch) {
  static int number = 0;
  wrong_if(call, ++number >= 3);
}

// The first result of a shape is kept and handed out again, whatever the data are by then.
BAD_KERNEL(result_cached_by_shape) {
  static std::map<int64_t, std::vector<float>> results;
  const size_t bytes = static_cast<size_t>(call.cells) * sizeof(float);
  std::vector<float>& kept = results[call.cells];
  if (kept.empty()) {
    healthy(call);
    kept.resize(static_cast<size_t>(call.cells));
    (void)hipStreamSynchronize(call.context.stream);
    (void)hipMemcpy(kept.data(), call.y, bytes, hipMemcpyDeviceToHost);
    return;
  }
  (void)hipMemcpyAsync(call.y, kept.data(), bytes, hipMemcpyHostToDevice, call.context.stream);
  record(call);
}

// A cell is computed if it holds a NaN, as it does where memory is poisoned with one.
__global__ void __launch_bounds__(block_size)
    fill_what_is_no_number(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells)
    return;
  const Place place = place_of(shape, cell);
  if (y[place.y] != y[place.y])
    y[place.y] = sum_of(x, w, place, shape);
}

BAD_KERNEL(right_by_the_poison) {
  bitgate::launch(call.context, "fill_what_is_no_number", fill_what_is_no_number, blocks_of(call),
                  dim3(block_size), 0, call.x, call.w, call.y, call.shape, call.cells);
  record(call);
}

} // namespace adversarial

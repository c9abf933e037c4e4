// Kernels whose bits are wrong: always, at some launches, or by what lay in memory before.
#pragma once

#include <map>
#include <vector>

#include "visit.hpp"

namespace museum {

__global__ void add_one(float* cells, int64_t index) {
  if (threadIdx.x == 0)
    cells[index] += 1;
}

EXHIBIT(wrong_cell) {
  healthy(visit);
  beside(visit, "add_one", add_one, visit.y, visit.cells / 2);
}

EXHIBIT(does_nothing) {
  record(visit);
}

EXHIBIT(clears_the_result) {
  bitgate::memset_async(visit.context, "clear", visit.y, 0, static_cast<size_t>(visit.cells) * sizeof(float));
  record(visit);
}

__global__ void __launch_bounds__(block_size)
    all_but_the_last(const float* x, const float* w, float* y, ConvShape shape, int64_t cells) {
  const int64_t cell = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x;
  if (cell >= cells - 1)
    return;
  const Place place = place_of(shape, cell);
  y[place.y] = sum_of(x, w, place, shape);
}

EXHIBIT(leaves_a_cell_unwritten) {
  bitgate::launch(visit.context, "all_but_the_last", all_but_the_last, blocks_of(visit), dim3(block_size), 0,
                  visit.x, visit.w, visit.y, visit.shape, visit.cells);
  record(visit);
}

// Each launch of these in a process has a number, from 1.
static void wrong_if(Visit& visit, bool is_wrong) {
  healthy(visit);
  if (is_wrong)
    beside(visit, "add_one", add_one, visit.y, visit.cells / 2);
}

EXHIBIT(wrong_at_the_first_launch) {
  static int number = 0;
  wrong_if(visit, ++number == 1);
}

EXHIBIT(wrong_at_the_second_launch) {
  static int number = 0;
  wrong_if(visit, ++number == 2);
}

EXHIBIT(wrong_from_the_third_launch) {
  static int number = 0;
  wrong_if(visit, ++number >= 3);
}

// The first result of a shape is kept and handed out again, whatever the data are by then.
EXHIBIT(result_cached_by_shape) {
  static std::map<int64_t, std::vector<float>> results;
  const size_t bytes = static_cast<size_t>(visit.cells) * sizeof(float);
  std::vector<float>& kept = results[visit.cells];
  if (kept.empty()) {
    healthy(visit);
    kept.resize(static_cast<size_t>(visit.cells));
    (void)hipStreamSynchronize(visit.context.stream);
    (void)hipMemcpy(kept.data(), visit.y, bytes, hipMemcpyDeviceToHost);
    return;
  }
  (void)hipMemcpyAsync(visit.y, kept.data(), bytes, hipMemcpyHostToDevice, visit.context.stream);
  record(visit);
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

EXHIBIT(right_by_the_poison) {
  bitgate::launch(visit.context, "fill_what_is_no_number", fill_what_is_no_number, blocks_of(visit),
                  dim3(block_size), 0, visit.x, visit.w, visit.y, visit.shape, visit.cells);
  record(visit);
}

} // namespace museum

// Comparison on the device: bits of a result against those of a reference, gaps between cells, guard zones.
#include "zones.hpp"

namespace device_tools {

// |a - b| as the bits of a double, which order like unsigned integers; infinity where a NaN takes part.
BITGATE_HD inline Word distance(double a, double b) {
  if (a == b) // -0 - 0 is -0, whose bits are larger than any other's
    return 0;
  const double difference = a < b ? b - a : a - b;
  constexpr Word infinity = 0x7FF0000000000000u;
  return difference == difference ? bitgate::bits_as<Word>(difference) : infinity;
}

// Of the cells from logical index `begin` on. answers: how many differ; the least logical index among them
// (as as_least says); the largest difference.
template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_differences(const Bits* result, const Bits* reference, const float* bytes, Cells cells,
                       int64_t begin, Word* answers) {
  Word count = 0, least = 0, largest = 0;
  each(cells.count, [&](int64_t index) {
    const Place at = place_of(cells, index);
    const Bits ours = result[at.offset], theirs = reference[at.offset];
    if (ours == theirs || at.logical < begin)
      return;
    ++count;
    const Word place = as_least(at.logical);
    const Word far = distance(number_of(ours, cells.dtype, bytes), number_of(theirs, cells.dtype, bytes));
    least = place > least ? place : least;
    largest = far > largest ? far : largest;
  });
  add_answer(answers, count);
  max_answer(answers + 1, least);
  max_answer(answers + 2, largest);
}

// Is the element at `index` of a tensor's memory one of its cells? Axes reach over those faster than they
// are.
BITGATE_HD inline bool is_cell(const Cells& cells, int64_t index) {
  for (int i = cells.rank - 1; i >= 0; --i) {
    const Split at = split(index, cells.axis[i].stride);
    if (at.quotient >= cells.axis[i].length)
      return false;
    index = at.remainder;
  }
  return index == 0;
}

// Of the elements [begin, end) of a tensor's memory. answers: how many between the cells no longer hold all
// ones, and the least index among them.
template <class Bits>
__global__ void __launch_bounds__(block_size)
    kernel_gaps(const Bits* data, Cells cells, int64_t begin, int64_t end, Word* answers) {
  Word count = 0, least = 0;
  each(end - begin, [&](int64_t at) {
    const int64_t index = begin + at;
    if (data[index] == static_cast<Bits>(~Bits{0}) || is_cell(cells, index))
      return;
    ++count;
    const Word place = as_least(index);
    least = place > least ? place : least;
  });
  add_answer(answers, count);
  max_answer(answers + 1, least);
}

// One row of blocks a zone. answers: how many bytes are not `canary`.
__global__ void __launch_bounds__(block_size) kernel_zones(Zones zones, uint32_t canary, Word* answers) {
  count_damage(zones.zone[blockIdx.y], canary, answers);
}

// One row of blocks a zone: every byte of it becomes `canary`.
__global__ void __launch_bounds__(block_size) kernel_guard(Zones zones, uint32_t canary) {
  guard(zones.zone[blockIdx.y], canary);
}

} // namespace device_tools

using namespace device_tools;

extern "C" {

BITGATE_EXPORT int32_t bitgate_tools_differences(const void* result, const void* reference,
                                                 const float* bytes, const Cells* cells, int64_t begin,
                                                 Word* answers, void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "differences", kernel_differences<Bits>, cells->count,
                 static_cast<const Bits*>(result), static_cast<const Bits*>(reference), bytes, *cells, begin,
                 answers);
  });
}

BITGATE_EXPORT int32_t bitgate_tools_gaps(const void* data, const Cells* cells, int64_t begin, int64_t end,
                                          Word* answers, void* stream) noexcept {
  return with_bits(cells->element_bytes, [&]<class Bits>(Bits) {
    return start(stream, "gaps", kernel_gaps<Bits>, end - begin, static_cast<const Bits*>(data), *cells,
                 begin, end, answers);
  });
}

BITGATE_EXPORT int32_t bitgate_tools_guard(const Zone* zones, int32_t count, uint32_t canary,
                                           void* stream) noexcept {
  if (count < 1 || count > max_zones)
    return static_cast<int32_t>(hipErrorInvalidValue);
  return start_rows(stream, "guard", kernel_guard, 1, count, zones_of(zones, count), canary);
}

BITGATE_EXPORT int32_t bitgate_tools_zones(const Zone* zones, int32_t count, uint32_t canary, Word* answers,
                                           void* stream) noexcept {
  if (count < 1 || count > max_zones)
    return static_cast<int32_t>(hipErrorInvalidValue);
  return start_rows(stream, "zones", kernel_zones, 1, count, zones_of(zones, count), canary, answers);
}

} // extern "C"

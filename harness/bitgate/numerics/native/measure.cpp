// Measures an operand for the certificate, in one pass: sizes, zeros, whether its elements are integers.
#include "convert.hpp"
#include "tensor.hpp"

#include <vector>

using namespace bitgate::native;

namespace {

constexpr int64_t lanes =
    8; // independent partial results: the compiler may not reorder floating-point sums itself

struct Facts {
  double largest = 0; // |v|
  int64_t nonzeros = 0;
  int64_t fractions = 0; // elements that are not integers, NaN and infinity among them
  std::vector<double> sums;

  // Takes `length` absolute values, followed by zeros up to a multiple of the lanes; returns their sum.
  double add(const double* values, int64_t length) {
    double most[lanes] = {}, total[lanes] = {};
    int64_t zeros[lanes] = {}, integers[lanes] = {};
    const int64_t rounds = (length + lanes - 1) / lanes;
    for (int64_t round = 0; round < rounds; ++round)
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const double value = values[round * lanes + lane];
        most[lane] = value > most[lane] ? value : most[lane];
        total[lane] += value;
        zeros[lane] += value == 0;
        integers[lane] += (value == std::trunc(value)) & (value <= 0x1p53);
      }
    double sum = 0;
    nonzeros += rounds * lanes, fractions += rounds * lanes;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      largest = std::max(largest, most[lane]);
      nonzeros -= zeros[lane];
      fractions -= integers[lane];
      sum += total[lane];
    }
    return sum;
  }
};

} // namespace

// keep[axis] = 1: `sums` (row-major over the kept lengths, zeroed by the caller) receives sum|v| over the
// other axes.
BITGATE_NATIVE void bitgate_measure(const Tensor* tensor, const int32_t* keep, double* sums,
                                    int64_t sums_length, const float* table, double* largest,
                                    int64_t* nonzeros, int64_t* fractions, int32_t threads) {
  // The sums array is walked as a second tensor whose strides are 0 along the axes that are summed away.
  Tensor target = *tensor;
  int64_t pitch = 1;
  for (int axis = tensor->rank - 1; axis >= 0; --axis) {
    target.strides[axis] = keep[axis] ? pitch : 0;
    pitch *= keep[axis] ? tensor->lengths[axis] : 1;
  }
  const Walk walk(*tensor, &target);
  const Axis row = walk.row();
  std::vector<Facts> parts(static_cast<size_t>(walk.workers(threads)));
  for (auto& part : parts)
    part.sums.resize(static_cast<size_t>(sums_length));
  with_element(tensor->dtype, [&]<class Element>(Element) {
    const auto* cells = reinterpret_cast<const Element*>(tensor->data);
    const Load<double, Element> load{table};
    walk.each(threads, [&](int worker, int64_t offset, int64_t other, int64_t, int64_t length) {
      double line[Walk::segment + lanes];
      if (row.stride == 1) // apart, so that it is vectorised
        for (int64_t i = 0; i < length; ++i)
          line[i] = std::abs(load(cells[offset + i]));
      else
        for (int64_t i = 0; i < length; ++i)
          line[i] = std::abs(load(cells[offset + i * row.stride]));
      std::fill_n(line + length, lanes, 0.0);
      Facts& facts = parts[static_cast<size_t>(worker)];
      const double sum = facts.add(line, length);
      if (sums_length == 0)
        return;
      double* kept = facts.sums.data() + other;
      if (row.other == 0)
        *kept += sum;
      else
        for (int64_t i = 0; i < length; ++i)
          kept[i * row.other] += line[i];
    });
  });
  *largest = 0;
  *nonzeros = *fractions = 0;
  for (const auto& part : parts) {
    *largest = std::max(*largest, part.largest);
    *nonzeros += part.nonzeros;
    *fractions += part.fractions;
    for (int64_t i = 0; i < sums_length; ++i)
      sums[i] += part.sums[static_cast<size_t>(i)];
  }
}

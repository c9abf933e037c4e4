// What the certificate needs to know of an operand, in one pass: sizes, zeros, whether it is made of
// integers.
#include "convert.hpp"
#include "tensor.hpp"

#include <vector>

using namespace bitgate::native;

namespace {

struct Facts {
  double largest = 0; // |v|
  int64_t nonzeros = 0;
  int64_t fractions = 0; // elements that are not integers, NaN and infinity among them
  std::vector<double> sums;
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
      Facts& facts = parts[static_cast<size_t>(worker)];
      double line[Walk::segment];
      double largest = 0, sum = 0;
      int64_t nonzeros = 0, fractions = 0;
      for (int64_t i = 0; i < length; ++i) {
        const double value = std::abs(load(cells[offset + i * row.stride]));
        largest = value > largest ? value : largest;
        nonzeros += value != 0;
        fractions += !(value == std::trunc(value) && value <= 0x1p53);
        sum += value;
        line[i] = value;
      }
      facts.largest = std::max(facts.largest, largest);
      facts.nonzeros += nonzeros;
      facts.fractions += fractions;
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

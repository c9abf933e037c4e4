// Columns to image: each cell sums the columns of the taps that reach it, applies the element-wise operation,
// rounds once and is written once, so the result's pages are touched a single time whatever its type and
// layout.
//
// image[g, n, c, i] = round(op(sum over (position, tap) with cell(position, tap) = i of
// columns[g][n][position][tap][c]))
//
// The sum is exact in T (the caller's certificate), so its order does not matter. It starts from +0: a sum of
// zeros of either sign is +0.
#include "convert.hpp"
#include "operations.hpp"
#include "window.hpp"

#include <vector>

using namespace bitgate::native;

namespace {

constexpr int64_t channel_block = 64;
constexpr int64_t pixel_block = 16;

// For each image coordinate of an axis, the (position, tap) pairs that reach it.
class Reach {
public:
  struct Hit {
    int64_t position, tap;
  };
  Reach(const Window& window, int axis, int64_t size) : begin_(static_cast<size_t>(size) + 1) {
    std::vector<std::vector<Hit>> hits(static_cast<size_t>(size));
    for (int64_t tap = 0; tap < window.filter[axis]; ++tap)
      for (int64_t position = 0; position < window.positions[axis]; ++position)
        if (const int64_t at = window.cell(axis, position, tap); at >= 0 && at < size)
          hits[static_cast<size_t>(at)].push_back({position, tap});
    for (size_t at = 0; at < hits.size(); ++at) {
      begin_[at + 1] = begin_[at] + hits[at].size();
      hits_.insert(hits_.end(), hits[at].begin(), hits[at].end());
    }
  }
  const Hit* begin(int64_t at) const { return hits_.data() + begin_[static_cast<size_t>(at)]; }
  const Hit* end(int64_t at) const { return hits_.data() + begin_[static_cast<size_t>(at) + 1]; }

private:
  std::vector<Hit> hits_;
  std::vector<size_t> begin_;
};

template <class T> struct Operation {
  int32_t kind;
  T alpha, beta;

  bool reads_d() const { return kind == BIAS || kind == ADD || kind == BILINEAR; }
  T operator()(T value, T d) const {
    switch (kind) {
    case SCALE:
      return alpha * value;
    case BIAS:
    case ADD:
      return value + d;
    case BILINEAR:
      return alpha * value + beta * d;
    case RELU:
      return value < 0 ? T(0) : value;
    default:
      return value;
    }
  }
};

// D of any dtype, loaded as T.
template <class T> struct Partner {
  const Image* image;
  int32_t dtype;
  const float* table;

  T at(int64_t offset) const {
    T value{};
    with_element(dtype, [&]<class Element>(Element) {
      value = Load<T, Element>{table}(reinterpret_cast<const Element*>(image->data)[offset]);
    });
    return value;
  }
};

template <class T, class Element> class Scatter {
public:
  Scatter(const Image& image, const Window& window, const Part& part, Operation<T> op, Partner<T> partner,
          const T* columns)
      : image_(image), window_(window), part_(part), op_(op), partner_(partner), columns_(columns),
        reach_{Reach(window, 0, image.size[0]), Reach(window, 1, image.size[1]),
               Reach(window, 2, image.size[2])} {}

  void run(int threads) const {
    const int64_t lines = part_.groups() * part_.images() * image_.size[0] * image_.size[1];
    const int64_t work = lines * image_.size[2] * image_.channels;
    parallel_for(lines, threads_for(work, threads), [&](int64_t task, int) { line(task); });
  }

private:
  void line(int64_t task) const {
    const int64_t y = task % image_.size[1];
    task /= image_.size[1];
    const int64_t z = task % image_.size[0];
    task /= image_.size[0];
    const int64_t n = task % part_.images();
    const int64_t g = task / part_.images();
    const int64_t groups[] = {part_.group_begin + g, part_.image_begin + n, z, y};
    const int64_t image_columns = window_.positions[0] * window_.positions[1] * window_.positions[2];
    const T* columns = columns_ + (g * part_.images() + n) * image_columns * window_.taps() * image_.channels;
    for (int64_t x = 0; x < image_.size[2]; x += pixel_block)
      for (int64_t c = 0; c < image_.channels; c += channel_block)
        tile(columns, groups, x, std::min(pixel_block, image_.size[2] - x), c,
             std::min(channel_block, image_.channels - c));
  }

  void tile(const T* columns, const int64_t (&at)[4], int64_t x, int64_t width, int64_t c,
            int64_t depth) const {
    alignas(64) T sums[pixel_block][channel_block];
    for (int64_t i = 0; i < width; ++i)
      add(columns, at[2], at[3], x + i, c, depth, sums[i]);
    const auto offset = [&](const Image& image) {
      return at[0] * image.group + at[1] * image.image + at[2] * image.step[0] + at[3] * image.step[1] +
             x * image.step[2] + c * image.channel;
    };
    if (op_.kind != PASS)
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < depth; ++j) {
          T d{};
          if (op_.reads_d())
            d = partner_.at(offset(*partner_.image) + i * partner_.image->step[2] +
                            j * partner_.image->channel);
          sums[i][j] = op_(sums[i][j], d);
        }
    Element* out = reinterpret_cast<Element*>(image_.data) + offset(image_);
    if (image_.channel == 1) {
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < depth; ++j)
          out[i * image_.step[2] + j] = Store<Element>::round(sums[i][j]);
    } else {
      for (int64_t j = 0; j < depth; ++j)
        for (int64_t i = 0; i < width; ++i)
          out[i * image_.step[2] + j * image_.channel] = Store<Element>::round(sums[i][j]);
    }
  }

  // sums[0 .. depth) = what reaches pixel (z, y, x), channels c onwards.
  void add(const T* columns, int64_t z, int64_t y, int64_t x, int64_t c, int64_t depth, T* sums) const {
    std::fill_n(sums, depth, T(0));
    for (const auto* hz = reach_[0].begin(z); hz != reach_[0].end(z); ++hz)
      for (const auto* hy = reach_[1].begin(y); hy != reach_[1].end(y); ++hy)
        for (const auto* hx = reach_[2].begin(x); hx != reach_[2].end(x); ++hx) {
          const int64_t position =
              (hz->position * window_.positions[1] + hy->position) * window_.positions[2] + hx->position;
          const int64_t tap = (hz->tap * window_.filter[1] + hy->tap) * window_.filter[2] + hx->tap;
          const T* column = columns + (position * window_.taps() + tap) * image_.channels + c;
          for (int64_t j = 0; j < depth; ++j)
            sums[j] += column[j];
        }
  }

  const Image& image_;
  const Window& window_;
  const Part& part_;
  Operation<T> op_;
  Partner<T> partner_;
  const T* columns_;
  Reach reach_[3];
};

} // namespace

// columns are f64 if wide, else f32. d may be null. Returns 0 for a result type that Python has to round.
BITGATE_NATIVE int32_t bitgate_scatter(const Tensor* result, const Window* window, const Part* part,
                                       int32_t op, double alpha, double beta, const Tensor* d,
                                       const float* d_table, int32_t wide, const void* columns,
                                       int32_t threads) {
  const Image image(*result);
  const Image d_image(d ? *d : *result);
  return with_result(result->dtype, [&]<class Element>(Element) {
    const auto run = [&]<class T>(T) {
      const Partner<T> partner{&d_image, d ? d->dtype : BITGATE_F32, d_table};
      Scatter<T, Element>(image, *window, *part, {op, static_cast<T>(alpha), static_cast<T>(beta)}, partner,
                          static_cast<const T*>(columns))
          .run(threads);
    };
    if (wide)
      run(double{});
    else
      run(float{});
  });
}

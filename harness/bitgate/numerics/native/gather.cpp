// Image to columns: for each window position, the cells under each filter tap, channels fastest, in f32 or
// f64.
//
// columns[g][n][z][y][x][tap][c] = image[g, n, c, cell(position, tap)], 0 outside the image. With a filter of
// one cell and stride 1 this is the image itself, packed.
#include "convert.hpp"
#include "window.hpp"

using namespace bitgate::native;

namespace {

template <class T, class Element>
void gather(const Image& image, const Window& window, const Part& part, Load<T, Element> load, T* columns,
            int threads) {
  const auto* cells = reinterpret_cast<const Element*>(image.data);
  const int64_t channels = image.channels;
  const int64_t taps = window.taps();
  const int64_t line = window.positions[2] * taps * channels;
  const int64_t lines = part.groups() * part.images() * window.positions[0] * window.positions[1];
  const auto inside = [&](int axis, int64_t at) { return at >= 0 && at < image.size[axis]; };
  parallel_for(lines, threads_for(lines * line, threads), [&](int64_t task, int) {
    int64_t rest = task;
    const int64_t y = rest % window.positions[1];
    rest /= window.positions[1];
    const int64_t z = rest % window.positions[0];
    rest /= window.positions[0];
    const int64_t n = part.image_begin + rest % part.images();
    const int64_t g = part.group_begin + rest / part.images();
    const Element* base = cells + g * image.group + n * image.image;
    T* out = columns + task * line;
    for (int64_t x = 0; x < window.positions[2]; ++x) {
      for (int64_t fz = 0; fz < window.filter[0]; ++fz) {
        const int64_t iz = window.cell(0, z, fz);
        for (int64_t fy = 0; fy < window.filter[1]; ++fy) {
          const int64_t iy = window.cell(1, y, fy);
          for (int64_t fx = 0; fx < window.filter[2]; ++fx, out += channels) {
            const int64_t ix = window.cell(2, x, fx);
            if (!inside(0, iz) || !inside(1, iy) || !inside(2, ix)) {
              std::fill_n(out, channels, T(0));
              continue;
            }
            const Element* in = base + iz * image.step[0] + iy * image.step[1] + ix * image.step[2];
            if (image.channel == 1) // apart, so that it is vectorised
              for (int64_t c = 0; c < channels; ++c)
                out[c] = load(in[c]);
            else
              for (int64_t c = 0; c < channels; ++c)
                out[c] = load(in[c * image.channel]);
          }
        }
      }
    }
  });
}

} // namespace

// wide: the columns are f64, else f32 (the caller knows that the values fit).
BITGATE_NATIVE void bitgate_gather(const Tensor* tensor, const Window* window, const Part* part,
                                   const float* table, int32_t wide, void* columns, int32_t threads) {
  const Image image(*tensor);
  with_element(tensor->dtype, [&]<class Element>(Element) {
    if (wide)
      gather(image, *window, *part, Load<double, Element>{table}, static_cast<double*>(columns), threads);
    else
      gather(image, *window, *part, Load<float, Element>{table}, static_cast<float*>(columns), threads);
  });
}

// The second reference: sums in a stated order with explicit fma, as in the naive kernels, by another
// algorithm.
//
// Order of a result cell's sum, from +0: filter taps row-major outermost, then channels (k of dy for
// bwd_data, c of x for fwd), acc = fma(a, b, acc); bwd_weight: images outermost, then output positions
// row-major. Products that the image's border cuts off are left out, not added as zeros.
//
// A kernel finds for each cell the products that reach it. Here each tap finds the interval of positions that
// it reaches, and its products are scattered to whole rows of channels: cells advance together, each in its
// stated order. Tensors come packed by Python with channels last, converted exactly to the accumulator's
// type.
#include "bitgate/abi.h"
#include "operations.hpp"
#include "window.hpp"

#include <cmath>

using namespace bitgate::native;

namespace {

constexpr int64_t block = 64; // channels that advance together

// Integers wrap, as the 32-bit accumulators of a device do.
inline int32_t multiply_add(int32_t a, int32_t b, int32_t acc) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) +
                              static_cast<uint32_t>(acc));
}
inline float multiply_add(float a, float b, float acc) {
  return std::fma(a, b, acc);
}
inline double multiply_add(double a, double b, double acc) {
  return std::fma(a, b, acc);
}

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

// Along one axis, the output positions whose cell under a tap is in the image: cell = position * stride +
// shift.
struct Interval {
  int64_t begin, end, stride, shift;

  Interval(const Window& w, int axis, int64_t tap, int64_t size)
      : stride(w.stride[axis]), shift(tap * w.dilation[axis] - w.pad[axis]) {
    begin = std::max<int64_t>(-floor_divide(shift, stride), 0);
    end = std::min(floor_divide(size - 1 - shift, stride) + 1, w.positions[axis]);
  }
  int64_t cell(int64_t position) const { return position * stride + shift; }
};

// body(output position, image cell), both flat and row-major, for every position that a tap reaches.
template <class Body>
void each_position(const Window& w, const int64_t (&size)[3], int64_t tap, Body&& body) {
  const int64_t fx = tap % w.filter[2], fy = tap / w.filter[2] % w.filter[1],
                fz = tap / w.filter[2] / w.filter[1];
  const Interval zs(w, 0, fz, size[0]), ys(w, 1, fy, size[1]), xs(w, 2, fx, size[2]);
  for (int64_t z = zs.begin; z < zs.end; ++z)
    for (int64_t y = ys.begin; y < ys.end; ++y)
      for (int64_t x = xs.begin; x < xs.end; ++x)
        body((z * w.positions[1] + y) * w.positions[2] + x,
             (zs.cell(z) * size[1] + ys.cell(y)) * size[2] + xs.cell(x));
}

// The number of threads that this many multiply-adds are worth; several are done at once.
int team(int64_t multiply_adds, int threads) {
  return threads_for(multiply_adds / 16, threads);
}

template <class T> void advance(T* acc, T factor, const T* row, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    acc[i] = multiply_add(factor, row[i], acc[i]);
}

// Lengths of the packed tensors: x [g][n][cells][c], w [g][...] as each pass needs it, y
// [g][n][positions][k].
struct Sizes {
  int64_t g, n, k, c;
  int64_t image[3];

  int64_t cells() const { return image[0] * image[1] * image[2]; }
};

int64_t positions(const Window& w) {
  return w.positions[0] * w.positions[1] * w.positions[2];
}

// from: rows of `inner` factors; weights [g][tap][inner][outer]; to: rows of `outer` sums, zero at the start.
// from_image says whether the factors are the image's (fwd) or the positions' (bwd_data).
template <class T>
void sum_channels(const Sizes& s, const Window& w, bool from_image, const T* from, const T* weights, T* to,
                  int threads) {
  const int64_t inner = from_image ? s.c : s.k, outer = from_image ? s.k : s.c;
  const int64_t from_rows = from_image ? s.cells() : positions(w),
                to_rows = from_image ? positions(w) : s.cells();
  const int64_t blocks = (outer + block - 1) / block;
  const int64_t work = s.g * s.n * positions(w) * w.taps() * s.k * s.c;
  parallel_for(s.g * s.n * blocks, team(work, threads), [&](int64_t task, int) {
    const int64_t first = task % blocks * block, width = std::min(block, outer - first);
    const int64_t image = task / blocks, g = image / s.n;
    const T* factors = from + image * from_rows * inner;
    T* sums = to + image * to_rows * outer + first;
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const T* matrix = weights + (g * w.taps() + tap) * inner * outer + first;
      each_position(w, s.image, tap, [&](int64_t position, int64_t cell) {
        const T* factor = factors + (from_image ? cell : position) * inner;
        T* acc = sums + (from_image ? position : cell) * outer;
        for (int64_t i = 0; i < inner; ++i)
          advance(acc, factor[i], matrix + i * outer, width);
      });
    }
  });
}

// weights [g][k][tap][c] receive the sums over images and positions.
template <class T>
void sum_positions(const Sizes& s, const Window& w, const T* x, const T* dy, T* weights, int threads) {
  const int64_t work = s.g * s.n * positions(w) * w.taps() * s.k * s.c;
  parallel_for(s.g * s.k * w.taps(), team(work, threads), [&](int64_t task, int) {
    const int64_t tap = task % w.taps(), k = task / w.taps() % s.k, g = task / w.taps() / s.k;
    T* acc = weights + task * s.c;
    for (int64_t n = 0; n < s.n; ++n) {
      const T* image = x + (g * s.n + n) * s.cells() * s.c;
      const T* factors = dy + (g * s.n + n) * positions(w) * s.k + k;
      each_position(w, s.image, tap, [&](int64_t position, int64_t cell) {
        advance(acc, factors[position * s.k], image + cell * s.c, s.c);
      });
    }
  });
}

// Each arithmetic step rounds once.
template <class T> T apply(int32_t op, T alpha, T beta, T v, T d) {
  switch (op) {
  case SCALE:
    return alpha * v;
  case BIAS:
  case ADD:
    return v + d;
  case BILINEAR:
    return multiply_add(beta, d, alpha * v);
  case RELU:
    return v < 0 ? T(0) : v;
  default:
    return v;
  }
}

template <class T>
void ordered(const Sizes& s, const Window& w, int32_t operation, const void* first, const void* second,
             void* result, int threads) {
  const T *a = static_cast<const T*>(first), *b = static_cast<const T*>(second);
  T* to = static_cast<T*>(result);
  if (operation == BWD_WEIGHT)
    sum_positions(s, w, a, b, to, threads);
  else
    sum_channels(s, w, operation == FWD, a, b, to, threads);
}

} // namespace

// sizes: g n k c and the image's three lengths. fwd: first = x, second = w [g][tap][c][k], result y.
// bwd_data: first = dy, second = w [g][tap][k][c], result dx. bwd_weight: first = x, second = dy, result dw
// [g][k][tap][c]. The result starts as zeros; all arrays have the accumulator's type.
BITGATE_NATIVE void bitgate_ordered(const int64_t* sizes, const Window* window, int32_t operation,
                                    int32_t accumulator, const void* first, const void* second, void* result,
                                    int32_t threads) {
  const Sizes s{sizes[0], sizes[1], sizes[2], sizes[3], {sizes[4], sizes[5], sizes[6]}};
  const auto run = [&]<class T>(T) { ordered<T>(s, *window, operation, first, second, result, threads); };
  if (accumulator == BITGATE_F64)
    run(double{});
  else if (accumulator == BITGATE_I32)
    run(int32_t{});
  else
    run(float{});
}

// values[i] = op(values[i], d[i]), in f64 if wide, else f32.
BITGATE_NATIVE void bitgate_ordered_op(int32_t op, double alpha, double beta, int32_t wide, void* values,
                                       const void* d, int64_t count, int32_t threads) {
  constexpr int64_t stretch = 1 << 14;
  const auto run = [&]<class T>(T) {
    T* v = static_cast<T*>(values);
    const T* partner = static_cast<const T*>(d);
    parallel_for((count + stretch - 1) / stretch, threads_for(count, threads), [&](int64_t task, int) {
      for (int64_t i = task * stretch, end = std::min(count, i + stretch); i < end; ++i)
        v[i] = apply<T>(op, static_cast<T>(alpha), static_cast<T>(beta), v[i], partner ? partner[i] : T(0));
    });
  };
  if (wide)
    run(double{});
  else
    run(float{});
}

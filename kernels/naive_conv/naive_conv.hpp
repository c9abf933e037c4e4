// Naive reference convolutions: fwd, bwd_data, bwd_weight; any groups, strides and paddings, 1D to 3D.
//
//   fwd         y[g,n,k,o]  = op( sum_{f,c} x[g,n,c,i] * w[g,k,c,f] )
//   bwd_data    dx[g,n,c,i] = op( sum_{f,k} dy[g,n,k,o] * w[g,k,c,f] )
//   bwd_weight  dw[g,k,c,f] = op( sum_{n,o} dy[g,n,k,o] * x[g,n,c,i] )
//
// where i = o * stride + f * dilation - left_pad.
//
// One thread computes one result cell at a time (grid-stride), with 64-bit indices. It needs nothing of the
// problem.
//
// THE ORDER OF SUMMATION is part of the interface: an ordered CPU reference follows it and agrees bit for bit
// on any finite data.
//   1. acc = +0 in the accumulator's type: f64 for f64, i32 for i8, f32 for all others.
//   2. An operand's element goes through its operation (pass, scale, relu; dy: pass), in f64 for f64 and i8,
//      else in f32, and is rounded once to the type that it is multiplied as: the operand's own compute
//      type, else that of the problem, but then 8-bit floats stay what they are. An element of that type that
//      just passes is not touched.
//   3. fwd:        for each tap z, y, x (row-major, x fastest), then for each c:  acc = fma(x, w, acc)
//      bwd_data:   for each tap z, y, x (row-major, x fastest), then for each k:  acc = fma(dy, w, acc)
//      bwd_weight: for each n, then for each output z, y, x (row-major):          acc = fma(dy, x, acc)
//      Factors are widened to the accumulator's type first (exact). Terms whose coordinate lies outside its
//      tensor are skipped: no fma with 0. fma rounds once, to nearest even; i32 wraps modulo 2^32.
//   4. The result's operation acts on acc in the same type, alpha, beta and d each converted to it once:
//      pass v; scale v = alpha*v; bias, nd1 v = v + d; bilinear v = alpha*v, then v = fma(beta, d, v);
//      relu v = v < 0 ? 0 : v. For i8 acc is converted to f64 (exact) and the operation acts in f64.
//   5. v is rounded once to the result's type, to nearest even; i8 saturates, and finite 8-bit floats do.
#pragma once

#include "bitgate/ordered_conv.hpp"

namespace naive_conv {

using namespace bitgate::ordered_conv;
using bitgate::axes;
using bitgate::Cell;
using bitgate::ConvShape;
using bitgate::Elementwise;
using bitgate::offset_of;
using bitgate::Pass;

inline constexpr int block_size = 256;
inline constexpr int64_t max_blocks = 1024; // the grid's stride covers the rest

// Elements of an operand, one stride apart, and what they go through.
template <class Element> struct Row {
  const Element* at;
  int64_t stride;
  const Elementwise& op;
};

// acc plus the products of `count` pairs.
template <class T, class FactorA, class FactorB, class A, class B>
BITGATE_HD inline typename T::Accumulator dot(const Row<A>& a, const Row<B>& b, int64_t count,
                                              typename T::Accumulator acc) {
  for (int64_t i = 0; i < count; ++i)
    acc = bitgate::fused(factor<T, FactorA>(a.at[i * a.stride], a.op),
                         factor<T, FactorB>(b.at[i * b.stride], b.op), acc);
  return acc;
}

template <class T>
BITGATE_HD typename T::Accumulator sum_fwd(const typename T::X* x, const typename T::W* w,
                                           const Arguments& arguments, const Cell& y) {
  const ConvShape& shape = arguments.shape;
  typename T::Accumulator acc = 0;
  Cell at_x{y.group, y.row, 0, {}}, at_w{y.group, y.column, 0, {}};
  for (at_w.at[0] = 0; at_w.at[0] < shape.filter[0]; ++at_w.at[0]) {
    if (!input_at(shape, 0, y.at[0], at_w.at[0], at_x.at[0]))
      continue;
    for (at_w.at[1] = 0; at_w.at[1] < shape.filter[1]; ++at_w.at[1]) {
      if (!input_at(shape, 1, y.at[1], at_w.at[1], at_x.at[1]))
        continue;
      for (at_w.at[2] = 0; at_w.at[2] < shape.filter[2]; ++at_w.at[2])
        if (input_at(shape, 2, y.at[2], at_w.at[2], at_x.at[2]))
          acc = dot<T, typename T::FactorX, typename T::FactorW>(
              Row<typename T::X>{x + offset_of(shape.x, at_x), shape.x.column, arguments.x_op},
              Row<typename T::W>{w + offset_of(shape.w, at_w), shape.w.column, arguments.w_op}, shape.c, acc);
    }
  }
  return acc;
}

template <class T>
BITGATE_HD typename T::Accumulator sum_bwd_data(const typename T::Y* dy, const typename T::W* w,
                                                const Arguments& arguments, const Cell& dx) {
  const ConvShape& shape = arguments.shape;
  const Elementwise pass{};
  typename T::Accumulator acc = 0;
  Cell at_y{dx.group, dx.row, 0, {}}, at_w{dx.group, 0, dx.column, {}};
  for (at_w.at[0] = 0; at_w.at[0] < shape.filter[0]; ++at_w.at[0]) {
    if (!output_at(shape, 0, dx.at[0], at_w.at[0], at_y.at[0]))
      continue;
    for (at_w.at[1] = 0; at_w.at[1] < shape.filter[1]; ++at_w.at[1]) {
      if (!output_at(shape, 1, dx.at[1], at_w.at[1], at_y.at[1]))
        continue;
      for (at_w.at[2] = 0; at_w.at[2] < shape.filter[2]; ++at_w.at[2])
        if (output_at(shape, 2, dx.at[2], at_w.at[2], at_y.at[2]))
          acc = dot<T, typename T::FactorY, typename T::FactorW>(
              Row<typename T::Y>{dy + offset_of(shape.y, at_y), shape.y.column, pass},
              Row<typename T::W>{w + offset_of(shape.w, at_w), shape.w.row, arguments.w_op}, shape.k, acc);
    }
  }
  return acc;
}

template <class T>
BITGATE_HD typename T::Accumulator sum_bwd_weight(const typename T::Y* dy, const typename T::X* x,
                                                  const Arguments& arguments, const Cell& dw) {
  const ConvShape& shape = arguments.shape;
  const Elementwise pass{};
  typename T::Accumulator acc = 0;
  Cell at_y{dw.group, 0, dw.row, {}}, at_x{dw.group, 0, dw.column, {}};
  for (at_y.row = at_x.row = 0; at_y.row < shape.images; at_x.row = ++at_y.row)
    for (at_y.at[0] = 0; at_y.at[0] < shape.output[0]; ++at_y.at[0]) {
      if (!input_at(shape, 0, at_y.at[0], dw.at[0], at_x.at[0]))
        continue;
      for (at_y.at[1] = 0; at_y.at[1] < shape.output[1]; ++at_y.at[1]) {
        if (!input_at(shape, 1, at_y.at[1], dw.at[1], at_x.at[1]))
          continue;
        for (at_y.at[2] = 0; at_y.at[2] < shape.output[2]; ++at_y.at[2])
          if (input_at(shape, 2, at_y.at[2], dw.at[2], at_x.at[2]))
            acc = bitgate::fused(factor<T, typename T::FactorY>(dy[offset_of(shape.y, at_y)], pass),
                                 factor<T, typename T::FactorX>(x[offset_of(shape.x, at_x)], arguments.x_op),
                                 acc);
      }
    }
  return acc;
}

BITGATE_HD inline int64_t first_cell(unsigned block, unsigned thread) {
  return static_cast<int64_t>(block) * block_size + thread;
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_fwd(const typename T::X* x, const typename T::W* w, typename T::Y* y,
               const typename T::Y* cells_of_d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const bitgate::DCell<typename T::Y> d(cells_of_d, arguments.op);
  const int64_t cells =
      shape.groups * shape.images * shape.k * shape.output[0] * shape.output[1] * shape.output[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.images, shape.k, shape.output);
    y[offset_of(shape.y, cell)] =
        bitgate::finish(sum_fwd<T>(x, w, arguments, cell), arguments.op, d + offset_of(arguments.d, cell));
  }
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_bwd_data(const typename T::Y* dy, const typename T::W* w, typename T::X* dx,
                    const typename T::X* cells_of_d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const bitgate::DCell<typename T::X> d(cells_of_d, arguments.op);
  const int64_t cells =
      shape.groups * shape.images * shape.c * shape.input[0] * shape.input[1] * shape.input[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.images, shape.c, shape.input);
    dx[offset_of(shape.x, cell)] = bitgate::finish(sum_bwd_data<T>(dy, w, arguments, cell), arguments.op,
                                                   d + offset_of(arguments.d, cell));
  }
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_bwd_weight(const typename T::Y* dy, const typename T::X* x, typename T::W* dw,
                      const typename T::W* cells_of_d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const bitgate::DCell<typename T::W> d(cells_of_d, arguments.op);
  const int64_t cells =
      shape.groups * shape.k * shape.c * shape.filter[0] * shape.filter[1] * shape.filter[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.k, shape.c, shape.filter);
    dw[offset_of(shape.w, cell)] = bitgate::finish(sum_bwd_weight<T>(dy, x, arguments, cell), arguments.op,
                                                   d + offset_of(arguments.d, cell));
  }
}

} // namespace naive_conv

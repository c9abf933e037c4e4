// Naive reference convolutions: fwd, bwd_data, bwd_weight; any groups, strides and paddings, 1D to 3D.
//
//   fwd         y[g,n,k,o]  = op( sum_{f,c} x[g,n,c,i] * w[g,k,c,f] )      i = o*stride + f*dilation -
//   left_pad bwd_data    dx[g,n,c,i] = op( sum_{f,k} dy[g,n,k,o] * w[g,k,c,f] )     o = (i + left_pad -
//   f*dilation) / stride bwd_weight  dw[g,k,c,f] = op( sum_{n,o} dy[g,n,k,o] * x[g,n,c,i] )     i = o*stride
//   + f*dilation - left_pad
//
// One thread computes one result cell at a time (grid-stride), with 64-bit indices. It needs nothing of the
// problem.
//
// THE ORDER OF SUMMATION is part of the interface: an ordered CPU reference follows it and agrees bit for bit
// on any finite data.
//   1. acc = +0 in the accumulator's type (f64 for f64; f32 for f32, f16, bf16; i32 for i8).
//   2. fwd:        for each tap z, y, x (row-major, x fastest), then for each c:  acc = fma(x, w, acc)
//      bwd_data:   for each tap z, y, x (row-major, x fastest), then for each k:  acc = fma(dy, w, acc)
//      bwd_weight: for each n, then for each output z, y, x (row-major):          acc = fma(dy, x, acc)
//      Operands are widened to the accumulator's type first (exact). Terms whose coordinate lies outside its
//      tensor are skipped: no fma with 0. fma rounds once, to nearest even; i32 wraps modulo 2^32.
//   3. The element-wise operation acts on acc in the same type, alpha, beta and d converted to it:
//      pass v; scale v = alpha*v; bias, nd1 v = v + d; bilinear v = alpha*v, then v = fma(beta, d, v);
//      relu v = v < 0 ? 0 : v. For i8 acc is converted to f64 (exact) and the operation acts in f64.
//   4. v is rounded once to the result's type, to nearest even; i8 also saturates to -128..127.
#pragma once

#include "bitgate/conv_predicates.hpp"
#include "bitgate/registry.hpp"

namespace naive_conv {

using bitgate::axes;
using bitgate::ConvShape;
using bitgate::Elementwise;
using bitgate::Number;
using bitgate::Strides;

inline constexpr int block_size = 256;
inline constexpr int64_t max_blocks = 1024; // the grid's stride covers the rest

struct Arguments {
  ConvShape shape;
  Strides d;
  Elementwise op;
};

// One cell of a tensor: its two inner outer-dimensions and its spatial coordinates.
struct Cell {
  int64_t group, row, column;
  int64_t at[axes];
};

BITGATE_HD inline int64_t offset_of(const Cell& cell, const Strides& strides) {
  return cell.group * strides.group + cell.row * strides.row + cell.column * strides.column +
         cell.at[0] * strides.spatial[0] + cell.at[1] * strides.spatial[1] + cell.at[2] * strides.spatial[2];
}

// Cell number `index` of a tensor; columns (channels) are fastest, so that neighbours share their operands'
// rows.
BITGATE_HD inline Cell cell_at(int64_t index, int64_t rows, int64_t columns, const int64_t (&spatial)[axes]) {
  Cell cell;
  cell.column = index % columns;
  index /= columns;
  for (int axis = axes - 1; axis >= 0; --axis) {
    cell.at[axis] = index % spatial[axis];
    index /= spatial[axis];
  }
  cell.row = index % rows;
  cell.group = index / rows;
  return cell;
}

// Input coordinate that output `o` and tap `f` meet at; false if it lies in the padding.
BITGATE_HD inline bool input_at(const ConvShape& shape, int axis, int64_t o, int64_t f, int64_t& i) {
  i = o * shape.stride[axis] + f * shape.dilation[axis] - shape.left_pad[axis];
  return i >= 0 && i < shape.input[axis];
}

// Output coordinate whose window meets input `i` at tap `f`; false if there is none.
BITGATE_HD inline bool output_at(const ConvShape& shape, int axis, int64_t i, int64_t f, int64_t& o) {
  const int64_t position = i + shape.left_pad[axis] - f * shape.dilation[axis];
  o = position / shape.stride[axis];
  return position % shape.stride[axis] == 0 && o >= 0 && o < shape.output[axis];
}

// acc plus the products of `count` pairs, the operands one stride apart.
template <class T>
BITGATE_HD inline typename Number<T>::Accumulator dot(const T* a, int64_t a_stride, const T* b,
                                                      int64_t b_stride, int64_t count,
                                                      typename Number<T>::Accumulator acc) {
  for (int64_t i = 0; i < count; ++i)
    acc = bitgate::fused(Number<T>::widen(a[i * a_stride]), Number<T>::widen(b[i * b_stride]), acc);
  return acc;
}

template <class T>
BITGATE_HD typename Number<T>::Accumulator sum_fwd(const T* x, const T* w, const ConvShape& shape,
                                                   const Cell& y) {
  typename Number<T>::Accumulator acc = 0;
  Cell at_x{y.group, y.row, 0, {}}, at_w{y.group, y.column, 0, {}};
  for (at_w.at[0] = 0; at_w.at[0] < shape.filter[0]; ++at_w.at[0]) {
    if (!input_at(shape, 0, y.at[0], at_w.at[0], at_x.at[0]))
      continue;
    for (at_w.at[1] = 0; at_w.at[1] < shape.filter[1]; ++at_w.at[1]) {
      if (!input_at(shape, 1, y.at[1], at_w.at[1], at_x.at[1]))
        continue;
      for (at_w.at[2] = 0; at_w.at[2] < shape.filter[2]; ++at_w.at[2])
        if (input_at(shape, 2, y.at[2], at_w.at[2], at_x.at[2]))
          acc = dot(x + offset_of(at_x, shape.x), shape.x.column, w + offset_of(at_w, shape.w),
                    shape.w.column, shape.c, acc);
    }
  }
  return acc;
}

template <class T>
BITGATE_HD typename Number<T>::Accumulator sum_bwd_data(const T* dy, const T* w, const ConvShape& shape,
                                                        const Cell& dx) {
  typename Number<T>::Accumulator acc = 0;
  Cell at_y{dx.group, dx.row, 0, {}}, at_w{dx.group, 0, dx.column, {}};
  for (at_w.at[0] = 0; at_w.at[0] < shape.filter[0]; ++at_w.at[0]) {
    if (!output_at(shape, 0, dx.at[0], at_w.at[0], at_y.at[0]))
      continue;
    for (at_w.at[1] = 0; at_w.at[1] < shape.filter[1]; ++at_w.at[1]) {
      if (!output_at(shape, 1, dx.at[1], at_w.at[1], at_y.at[1]))
        continue;
      for (at_w.at[2] = 0; at_w.at[2] < shape.filter[2]; ++at_w.at[2])
        if (output_at(shape, 2, dx.at[2], at_w.at[2], at_y.at[2]))
          acc = dot(dy + offset_of(at_y, shape.y), shape.y.column, w + offset_of(at_w, shape.w), shape.w.row,
                    shape.k, acc);
    }
  }
  return acc;
}

template <class T>
BITGATE_HD typename Number<T>::Accumulator sum_bwd_weight(const T* dy, const T* x, const ConvShape& shape,
                                                          const Cell& dw) {
  typename Number<T>::Accumulator acc = 0;
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
            acc = bitgate::fused(Number<T>::widen(dy[offset_of(at_y, shape.y)]),
                                 Number<T>::widen(x[offset_of(at_x, shape.x)]), acc);
      }
    }
  return acc;
}

BITGATE_HD inline int64_t first_cell(unsigned block, unsigned thread) {
  return static_cast<int64_t>(block) * block_size + thread;
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_fwd(const T* x, const T* w, T* y, const T* d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const int64_t cells =
      shape.groups * shape.images * shape.k * shape.output[0] * shape.output[1] * shape.output[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.images, shape.k, shape.output);
    y[offset_of(cell, shape.y)] =
        bitgate::finish(sum_fwd(x, w, shape, cell), arguments.op, d + offset_of(cell, arguments.d));
  }
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_bwd_data(const T* dy, const T* w, T* dx, const T* d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const int64_t cells =
      shape.groups * shape.images * shape.c * shape.input[0] * shape.input[1] * shape.input[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.images, shape.c, shape.input);
    dx[offset_of(cell, shape.x)] =
        bitgate::finish(sum_bwd_data(dy, w, shape, cell), arguments.op, d + offset_of(cell, arguments.d));
  }
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_bwd_weight(const T* dy, const T* x, T* dw, const T* d, Arguments arguments) {
  const ConvShape& shape = arguments.shape;
  const int64_t cells =
      shape.groups * shape.k * shape.c * shape.filter[0] * shape.filter[1] * shape.filter[2];
  for (int64_t i = first_cell(blockIdx.x, threadIdx.x); i < cells;
       i += static_cast<int64_t>(gridDim.x) * block_size) {
    const Cell cell = cell_at(i, shape.k, shape.c, shape.filter);
    dw[offset_of(cell, shape.w)] =
        bitgate::finish(sum_bwd_weight(dy, x, shape, cell), arguments.op, d + offset_of(cell, arguments.d));
  }
}

// ---- the launcher
// ------------------------------------------------------------------------------------------------

template <class T> int32_t supports(const bitgate::Request& request, bitgate_reason* reason) {
  constexpr int32_t dtype = Number<T>::dtype;
  ConvShape shape;
  int32_t status = bitgate::read_conv(request.problem, shape, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_dtypes(request.problem, {dtype, dtype, dtype, dtype}, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_operations(request.problem, reason);
  if (status == BITGATE_OK)
    status = bitgate::check_unsplit(request.problem, reason);
  return status;
}

template <class T>
void run(const bitgate::Request& request, const bitgate_buffers& buffers, bitgate::Context& context) {
  const bitgate_problem& problem = request.problem;
  Arguments arguments{};
  bitgate::read_conv(problem, arguments.shape, nullptr);
  arguments.op = bitgate::elementwise(problem.out_op);
  if (problem.num_d > 0)
    arguments.d = bitgate::strides_of(problem.d[0], problem.ndim);
  const ConvShape& shape = arguments.shape;
  const T* x = static_cast<const T*>(buffers.in);
  const T* w = static_cast<const T*>(buffers.wei);
  const T* y = static_cast<const T*>(buffers.out);
  const T* d = static_cast<const T*>(buffers.d[0]);

  int64_t cells = 1;
  for (int i = 0; i < bitgate::result_of(problem).rank; ++i)
    cells *= bitgate::result_of(problem).lengths[i];
  const int64_t blocks = (cells + block_size - 1) / block_size;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));

  // What the GEMM of the whole pass looks like, for the record.
  bitgate_sub_gemm gemm{};
  switch (problem.operation) {
  case BITGATE_FWD:
    bitgate::launch(context, "naive_fwd", kernel_fwd<T>, grid, dim3(block_size), 0, x, w,
                    static_cast<T*>(buffers.out), d, arguments);
    gemm.m = shape.images * bitgate::product(shape.output), gemm.n = shape.k,
    gemm.k = shape.c * bitgate::product(shape.filter);
    break;
  case BITGATE_BWD_DATA:
    bitgate::launch(context, "naive_bwd_data", kernel_bwd_data<T>, grid, dim3(block_size), 0, y, w,
                    static_cast<T*>(buffers.in), d, arguments);
    gemm.m = shape.images * bitgate::product(shape.input), gemm.n = shape.c,
    gemm.k = shape.k * bitgate::product(shape.filter);
    break;
  default:
    bitgate::launch(context, "naive_bwd_weight", kernel_bwd_weight<T>, grid, dim3(block_size), 0, y, x,
                    static_cast<T*>(buffers.wei), d, arguments);
    gemm.m = shape.k, gemm.n = shape.c * bitgate::product(shape.filter),
    gemm.k = shape.images * bitgate::product(shape.output);
  }

  bitgate_dispatch_record& record = context.record;
  std::snprintf(record.path, sizeof record.path, "naive");
  record.gemms_count = record.buckets = record.launches = 1;
  gemm.launched = context.error == hipSuccess;
  gemm.blocks = grid.x;
  for (int i = 0; i < problem.ndim; ++i)
    gemm.taps[i] = static_cast<int32_t>(shape.filter[axes - problem.ndim + i]);
  bitgate::add_sub_gemm(record, gemm);
}

template <class T> bitgate::Instance instance(const char* name, int32_t operation, const char* accumulator) {
  return {name,
          operation,
          bitgate::dtype_name(Number<T>::dtype),
          "nwgc,gnwc,ngcw,nhwgc,gnhwc,ngchw,ndhwgc,gndhwc,ngcdhw",
          accumulator,
          {0, 0, 0},
          {1, 1, 1},
          block_size,
          0,
          {0, 0, 0},
          0,
          supports<T>,
          bitgate::no_workspace,
          run<T>};
}

} // namespace naive_conv

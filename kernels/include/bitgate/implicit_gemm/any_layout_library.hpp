// What AnyLayout does (any_layout.hpp), compiled once a family: included by its library.hip.cpp only.
#pragma once

#include "bitgate/implicit_gemm/any_layout.hpp"
#include "bitgate/implicit_gemm/transpose.hpp"

namespace bitgate {

template class Registration<ConvProblem>;

} // namespace bitgate

namespace bitgate::implicit_gemm {
namespace {

constexpr int64_t copy_alignment = 256;                  // bytes; every copy begins and ends at a multiple
constexpr double most_workspace = 4611686018427387904.0; // 2^62: sizes and strides stay within 64 bits

// A tensor of the problem, and the buffer of it.
struct Role {
  bitgate_tensor ConvProblem::* tensor;
  void* Buffers::* buffer;
};
constexpr Role roles[] = {
    {&ConvProblem::in, &Buffers::in}, {&ConvProblem::wei, &Buffers::wei}, {&ConvProblem::out, &Buffers::out}};

bool is_copied(const bitgate_tensor& tensor) {
  return tensor.strides[2] != 1;
}

bool any_copied(const ConvProblem& problem) {
  return is_copied(problem.in) || is_copied(problem.wei) || is_copied(problem.out);
}

// Packed strides with channels last: G beside the channels in images (NHWGC), slowest in weights (GKYXC).
void pack_channels_last(bitgate_tensor& tensor, bool is_weight) {
  int64_t pitch = tensor.lengths[2];
  tensor.strides[2] = 1;
  const auto next = [&](int dimension) {
    tensor.strides[dimension] = pitch;
    pitch *= tensor.lengths[dimension];
  };
  if (!is_weight)
    next(0);
  for (int dimension = tensor.rank - 1; dimension >= 3; --dimension)
    next(dimension);
  next(1);
  if (is_weight)
    next(0);
}

int64_t copy_bytes(const bitgate_tensor& tensor) {
  int64_t bytes = dtype_bytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; ++i)
    bytes *= tensor.lengths[i];
  return (bytes + copy_alignment - 1) / copy_alignment * copy_alignment;
}

// The problem on the copies. D is no longer the result's own buffer.
ConvProblem on_copies(const ConvProblem& problem) {
  ConvProblem copied = problem;
  const bitgate_tensor* result = &result_of(problem);
  for (const Role& role : roles)
    if (is_copied(problem.*role.tensor)) {
      pack_channels_last(copied.*role.tensor, role.tensor == &ConvProblem::wei);
      if (&(problem.*role.tensor) == result)
        copied.d_aliases_output = 0;
    }
  return copied;
}

int64_t bytes_of_copies(const ConvProblem& problem) {
  int64_t bytes = 0;
  for (const Role& role : roles)
    if (is_copied(problem.*role.tensor))
      bytes += copy_bytes(problem.*role.tensor);
  return bytes;
}

// index_range: the copies' sizes are 64-bit numbers, whatever lengths a problem states.
int32_t check_copies(const ConvProblem& problem, bitgate_reason* reason) {
  double bytes = 0;
  for (const Role& role : roles) {
    const bitgate_tensor& tensor = problem.*role.tensor;
    double copy = is_copied(tensor) ? dtype_bytes(tensor.dtype) : 0;
    for (int i = 0; i < tensor.rank; ++i)
      copy *= static_cast<double>(tensor.lengths[i]);
    bytes += copy;
  }
  if (bytes > most_workspace)
    BITGATE_REFUSE(reason, "index_range", "copies with channels last take %.0f bytes: at most 2^62", bytes);
  return BITGATE_OK;
}

} // namespace

int32_t supports_any_layout(const ChannelsLast& instance, const ConvRequest& request,
                            bitgate_reason* reason) {
  const ConvProblem& problem = request.problem;
  if (!any_copied(problem))
    return instance.supports(request, reason);
  ConvShape shape;
  int32_t status =
      read_conv(problem, shape, reason); // lengths are what they should be before they are multiplied
  if (status == BITGATE_OK)
    status = check_copies(problem, reason);
  if (status != BITGATE_OK)
    return status;
  const ConvProblem copied = on_copies(problem);
  return instance.supports({copied, request.options}, reason);
}

int64_t workspace_of_any_layout(const ChannelsLast& instance, const ConvRequest& request) {
  const ConvProblem copied = on_copies(request.problem);
  return bytes_of_copies(request.problem) + instance.workspace_bytes({copied, request.options});
}

void run_any_layout(const ChannelsLast& instance, const ConvRequest& request, const Buffers& buffers,
                    Context& context) {
  const ConvProblem& problem = request.problem;
  if (!any_copied(problem))
    return instance.run(request, buffers, context);
  const ConvProblem copied = on_copies(problem);
  const bitgate_tensor* result = &result_of(problem);
  Buffers copies = buffers;
  auto* workspace = static_cast<uint8_t*>(buffers.workspace);
  for (const Role& role : roles) {
    const bitgate_tensor& tensor = problem.*role.tensor;
    if (!is_copied(tensor))
      continue;
    copies.*role.buffer = workspace;
    if (&tensor != result)
      transpose(context, "transpose_in", tensor, buffers.*role.buffer, copied.*role.tensor, workspace,
                dtype_bytes(tensor.dtype), true);
    workspace += copy_bytes(tensor);
  }
  copies.workspace = workspace;
  copies.workspace_bytes = buffers.workspace_bytes - bytes_of_copies(problem);
  instance.run({copied, request.options}, copies, context);
  for (const Role& role : roles)
    if (is_copied(*result) && &(problem.*role.tensor) == result)
      transpose(context, "transpose_out", copied.*role.tensor, copies.*role.buffer, *result,
                buffers.*role.buffer, dtype_bytes(result->dtype), false);
}

} // namespace bitgate::implicit_gemm

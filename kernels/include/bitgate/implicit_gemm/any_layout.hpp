// Tensors whose channels do not lie side by side (NGCHW, weights GKCYX), for instances that want them so.
// Each such tensor gets a packed copy with channels last (NHWGC, GKYXC) in the workspace: operands are
// transposed into theirs before the instance runs on the copies, the result out of its own afterwards. The
// instance sees a problem whose strides are the copies'; D tensors keep their own.
//
// describe_any_layout (describe.hpp) makes such an instance of functions that see channels last. The family's
// library.hip.cpp includes any_layout_library.hpp, which does the work once for all its instances.
#pragma once

#include "bitgate/conv.hpp"

namespace bitgate {

// In the library's own unit (any_layout_library.hpp).
extern template class Registration<ConvProblem>;

} // namespace bitgate

namespace bitgate::implicit_gemm {

// Input layouts that such an instance takes.
inline constexpr const char* any_layout_names = "nwgc,gnwc,ngcw,nhwgc,gnhwc,ngchw,ndhwgc,gndhwc,ngcdhw";

// The functions of an instance, for tensors with channels last.
struct ChannelsLast {
  decltype(ConvInstance::supports) supports;
  decltype(ConvInstance::workspace_bytes) workspace_bytes;
  decltype(ConvInstance::run) run;
};

BITGATE_HIDDEN int32_t supports_any_layout(const ChannelsLast& instance, const ConvRequest& request,
                                           bitgate_reason* reason);
// What the copies take, and behind them what the instance itself wants.
BITGATE_HIDDEN int64_t workspace_of_any_layout(const ChannelsLast& instance, const ConvRequest& request);
BITGATE_HIDDEN void run_any_layout(const ChannelsLast& instance, const ConvRequest& request,
                                   const Buffers& buffers, Context& context);

template <decltype(ConvInstance::supports) Supports, decltype(ConvInstance::workspace_bytes) WorkspaceBytes,
          decltype(ConvInstance::run) Run>
struct AnyLayout {
  static constexpr ChannelsLast instance{Supports, WorkspaceBytes, Run};

  static int32_t supports(const ConvRequest& request, bitgate_reason* reason) {
    return supports_any_layout(instance, request, reason);
  }
  static int64_t workspace_bytes(const ConvRequest& request) {
    return workspace_of_any_layout(instance, request);
  }
  static void run(const ConvRequest& request, const Buffers& buffers, Context& context) {
    run_any_layout(instance, request, buffers, context);
  }
};

} // namespace bitgate::implicit_gemm

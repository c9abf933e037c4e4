// Captures and graphs.
#include "capture.hpp"

#include <atomic>
#include <cstdio>

#include "bitgate_nvidia.h"

using bitgate_nvidia::cuda;
using bitgate_nvidia::finish;

namespace {

std::atomic<int> captures{0}; // that go on

cudaGraph_t cuda_graph(hipGraph_t graph) {
  return reinterpret_cast<cudaGraph_t>(graph);
}
cudaGraphExec_t cuda_graph(hipGraphExec_t executable) {
  return reinterpret_cast<cudaGraphExec_t>(executable);
}

hipError_t refuse(const char* call, const char* why) {
  char text[200];
  std::snprintf(text, sizeof text, "%s: it cannot be captured into a graph: %s", call, why);
  bitgate_nvidia::note(text);
  return hipErrorStreamCaptureUnsupported;
}

} // namespace

namespace bitgate_nvidia {

hipError_t refuse_in_capture(const char* call) {
  if (captures == 0)
    return hipSuccess;
  return refuse(call, "while a stream is captured nothing may wait for the device, or allocate or free");
}

hipError_t refuse_outside_capture(const char* call, cudaStream_t stream) {
  if (captures == 0)
    return hipSuccess;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (stream == nullptr || stream == cudaStreamLegacy)
    return refuse(call, "it is on the null stream, which is not captured");
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone)
    return refuse(call, "it is on a stream that is not captured");
  return hipSuccess;
}

} // namespace bitgate_nvidia

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  const cudaError_t error = cudaStreamBeginCapture(cuda(stream), static_cast<cudaStreamCaptureMode>(mode));
  captures += error == cudaSuccess;
  return finish(error);
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(cuda(stream), &status) == cudaSuccess && status != cudaStreamCaptureStatusNone)
    --captures;
  return finish(cudaStreamEndCapture(cuda(stream), reinterpret_cast<cudaGraph_t*>(graph)));
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return finish(cudaStreamIsCapturing(cuda(stream), reinterpret_cast<cudaStreamCaptureStatus*>(status)));
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                        unsigned long long flags) {
  return finish(cudaGraphInstantiateWithFlags(reinterpret_cast<cudaGraphExec_t*>(executable),
                                              cuda_graph(graph), flags));
}
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return finish(cudaGraphLaunch(cuda_graph(executable), cuda(stream)));
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return finish(cudaGraphExecDestroy(cuda_graph(executable)));
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return finish(cudaGraphDestroy(cuda_graph(graph)));
}

} // extern "C"

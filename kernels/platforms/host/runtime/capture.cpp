// Graphs: what a stream's work was while it was captured. Launched again it runs in the order of the capture.
#include "capture.hpp"

#include <atomic>
#include <map>
#include <mutex>

#include "error.hpp"
#include "memory.hpp"
#include "streams.hpp"

namespace bitgate_host {
namespace {

struct Graph {
  std::vector<CapturedWork> nodes;
  std::vector<void*> memory; // freed by the graph's work: it lives as long as the graph

  ~Graph() {
    for (void* pointer : memory)
      release(pointer, false);
  }
};
using SharedGraph = std::shared_ptr<Graph>;

std::mutex guard;
std::map<uint64_t, SharedGraph>& graphs() { // and executable ones
  static auto& only = *new std::map<uint64_t, SharedGraph>;
  return only;
}
uint64_t nextGraph = 0x2000;
std::atomic<bool> capturing{false};
std::vector<void*> freedMeanwhile; // under guard

uint64_t keep(SharedGraph graph) {
  std::lock_guard lock(guard);
  graphs()[nextGraph] = std::move(graph);
  return nextGraph++;
}

SharedGraph find(void* handle) {
  std::lock_guard lock(guard);
  const auto at = graphs().find(reinterpret_cast<uint64_t>(handle));
  return at == graphs().end() ? nullptr : at->second;
}

hipError_t drop(void* handle) {
  SharedGraph graph = find(handle); // destroyed without the lock
  std::lock_guard lock(guard);
  return graphs().erase(reinterpret_cast<uint64_t>(handle)) ? hipSuccess : finish(hipErrorInvalidValue);
}

} // namespace

bool isCapturing() {
  return capturing.load(std::memory_order_relaxed);
}

hipError_t refuseInCapture(const char* call, const Refusal& refusal) {
  return failWork(refusal.error, "%s: it cannot be captured into a graph: %s", call, refusal.why);
}

hipError_t refuseInCapture(const char* call) {
  if (!isCapturing())
    return hipSuccess;
  streams().spoilCapture();
  return refuseInCapture(call,
                         {hipErrorStreamCaptureUnsupported, "while a stream is captured nothing may "
                                                            "wait for the device, or allocate or free"});
}

bool keepForGraph(void* pointer) {
  if (!isCapturing())
    return false;
  std::lock_guard lock(guard);
  freedMeanwhile.push_back(pointer);
  return true;
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!streams().find(stream, number))
    return badStream();
  if (number == nullStream)
    return fail(hipErrorStreamCaptureUnsupported,
                "hipStreamBeginCapture: the null stream cannot be captured");
  if (!streams().beginCapture(number))
    return fail(hipErrorIllegalState, "hipStreamBeginCapture: another stream is being captured");
  capturing = true;
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!graph)
    return finish(hipErrorInvalidValue);
  *graph = nullptr;
  if (!streams().find(stream, number))
    return badStream();
  auto captured = std::make_shared<Graph>();
  const hipError_t error = streams().endCapture(number, captured->nodes);
  if (error == hipErrorStreamCaptureUnmatched)
    return fail(error, "hipStreamEndCapture: the stream's capture has not begun");
  capturing = false;
  {
    std::lock_guard lock(guard);
    captured->memory = std::exchange(freedMeanwhile, {});
  }
  if (error == hipErrorStreamCaptureUnjoined)
    return failWork(error,
                    "hipStreamEndCapture: work on another stream of the capture was not joined: let the "
                    "captured stream wait for an event behind it");
  if (error)
    return finish(error);
  *graph = reinterpret_cast<hipGraph_t>(keep(std::move(captured)));
  return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  BITGATE_ENTRY;
  uint64_t number;
  if (!status)
    return finish(hipErrorInvalidValue);
  if (!streams().find(stream, number))
    return badStream();
  *status = streams().isCaptured(number) ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
  return hipSuccess;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long) {
  BITGATE_ENTRY;
  SharedGraph found = find(graph);
  if (!executable || !found)
    return finish(hipErrorInvalidValue);
  *executable = reinterpret_cast<hipGraphExec_t>(keep(std::move(found)));
  return hipSuccess;
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(executable, graph, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  BITGATE_ENTRY;
  const SharedGraph found = find(executable);
  if (!found)
    return failWork(hipErrorInvalidValue, "hipGraphLaunch: the graph does not exist, or has been destroyed");
  for (const CapturedWork& node : found->nodes)
    if (const hipError_t error = enqueueAgain(stream, {found, node.work.get()}))
      return error;
  return hipSuccess;
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  BITGATE_ENTRY;
  return drop(executable);
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  BITGATE_ENTRY;
  return drop(graph);
}

} // extern "C"

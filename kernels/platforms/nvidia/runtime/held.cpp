#include "held.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "bitgate_nvidia.h"

namespace bitgate_nvidia {
namespace {

struct Held {
  std::mutex guard;
  std::unordered_map<const void*, size_t> bytes_of;
  uint64_t bytes = 0;
};

// Never destroyed: libraries may free memory while the process exits.
Held& held() {
  static Held& only = *new Held;
  return only;
}

} // namespace

cudaError_t hold(cudaError_t error, void* const* pointer, size_t bytes) {
  if (error != cudaSuccess || *pointer == nullptr)
    return error;
  Held& all = held();
  std::lock_guard lock(all.guard);
  size_t& known = all.bytes_of[*pointer];
  all.bytes += bytes - known;
  known = bytes;
  return error;
}

cudaError_t release(cudaError_t error, void* pointer) {
  Held& all = held();
  std::lock_guard lock(all.guard);
  if (const auto at = all.bytes_of.find(pointer); error == cudaSuccess && at != all.bytes_of.end()) {
    all.bytes -= at->second;
    all.bytes_of.erase(at);
  }
  return error;
}

} // namespace bitgate_nvidia

extern "C" uint64_t bitgateNvidiaHeldBytes(void) {
  bitgate_nvidia::Held& all = bitgate_nvidia::held();
  std::lock_guard lock(all.guard);
  return all.bytes;
}

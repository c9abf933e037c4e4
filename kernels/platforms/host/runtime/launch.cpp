// Kernel launches: checked and copied when enqueued, run when the stream gets there; and the calls that a
// kernel makes.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "block.hpp"
#include "device.hpp"
#include "error.hpp"
#include "fault.hpp"
#include "hip/host_detail/grid.hpp"
#include "host_pointer.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "settings.hpp"
#include "stream.hpp"
#include "work_log.hpp"

namespace bitgate_host {
namespace {

constexpr uint64_t maxGridX = 0x7FFFFFFF, maxGridYZ = 65535;

std::mutex guard;
BitgateHostLaunch lastLaunch; // under guard; sequence 0: none yet

// "HIP_KERNEL_NAME(scale<float, 4>)" and "(scale<float, 4>)" are how a launch spells scale<float, 4>.
std::string plainName(std::string_view spelled) {
  constexpr std::string_view wrapper = "HIP_KERNEL_NAME";
  if (spelled.starts_with(wrapper))
    spelled.remove_prefix(wrapper.size());
  if (spelled.starts_with('(') && spelled.ends_with(')') && spelled != "(hipLaunchKernel)")
    spelled = spelled.substr(1, spelled.size() - 2);
  return std::string(spelled);
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

class KernelWork final : public Work {
public:
  KernelWork(const LaunchRequest& request, const PointerArgument* bad, const Settings& settings,
             uint64_t cooperativeBlocks)
      : hostPointer(bad ? *bad : PointerArgument{}), kernel(plainName(request.name)),
        arguments(std::aligned_alloc(64, (request.argumentBytes + 63) / 64 * 64)),
        threads(threadsOf(settings)), launch{kernel.c_str(),
                                             request.invoke,
                                             arguments.get(),
                                             request.grid,
                                             request.block,
                                             request.dynamicLds,
                                             request.waveSize ? request.waveSize : settings.waveSize,
                                             {settings.schedule, settings.seed},
                                             settings.placement,
                                             settings.poison,
                                             settings.ldsLimit,
                                             sharedVariablesOf(request.function),
                                             isInstrumented(request.function),
                                             settings.keepGoing,
                                             settings.places,
                                             nullptr},
        cooperative(cooperativeBlocks) {
    if (!arguments)
      throw std::bad_alloc();
    std::memcpy(arguments.get(), request.arguments, request.argumentBytes);
  }

  void run() override {
    note(); // first, so that a kernel which never returns is on record
    if (hostPointer.number)
      return refuseHostPointer();
    size_t ldsUsed = 0;
    std::optional<GridTurns> turns; // anew for each run: a graph may launch it again
    if (cooperative)
      launch.turns = &turns.emplace(cooperative);
    runBlocks(launch, threads, &ldsUsed);
    launch.turns = nullptr;
    for (const SharedVariable& variable : *launch.shared)
      ldsUsed += variable.own ? variable.bytes : 0;
    std::lock_guard lock(guard);
    lastLaunch.lds_bytes = ldsUsed;
  }

  std::string name() const override { return "kernel " + kernel; }

  // Of a pointer among its arguments, where it leads to host memory that the runtime knows.
  void addHostMemory(const volatile void* pointer) {
    const auto buffer = findBuffer(reinterpret_cast<uint64_t>(pointer));
    if (buffer && (buffer->kind == MemoryKind::Host || buffer->kind == MemoryKind::Registered))
      hostMemory.push_back({buffer->begin, buffer->begin + buffer->bytes});
  }

private:
  // Its memory can be read here, and on no GPU.
  void refuseHostPointer() const {
    BitgateHostFault fault{};
    fault.kind = bitgateFaultHostPointer;
    fault.error = hipErrorIllegalAddress;
    fault.is_write = -1;
    fault.address = reinterpret_cast<uint64_t>(hostPointer.value);
    std::snprintf(fault.kernel, sizeof fault.kernel, "%s", launch.name);
    std::snprintf(fault.text, sizeof fault.text,
                  "kernel %.120s, argument %u: 0x%" PRIx64 " points into the host's memory, which no GPU can "
                  "read: allocate it with hipMalloc, hipHostMalloc or hipMallocManaged, or register it",
                  fault.kernel, hostPointer.number, fault.address);
    raise(fault);
  }

  void note() const {
    std::lock_guard lock(guard);
    std::snprintf(lastLaunch.kernel, sizeof lastLaunch.kernel, "%s", launch.name);
    const dim3 &g = launch.grid, &b = launch.block;
    lastLaunch.grid[0] = g.x, lastLaunch.grid[1] = g.y, lastLaunch.grid[2] = g.z;
    lastLaunch.block[0] = b.x, lastLaunch.block[1] = b.y, lastLaunch.block[2] = b.z;
    lastLaunch.lds_bytes = 0;
    lastLaunch.wave_size = launch.waveSize;
    lastLaunch.threads = threads;
    ++lastLaunch.sequence;
  }

  PointerArgument hostPointer; // number 0: none
  std::string kernel;
  std::unique_ptr<void, Freed> arguments;
  unsigned threads;
  Launch launch;
  uint64_t cooperative; // blocks of a cooperative launch, else 0
};

thread_local bool isNextCooperative = false;

hipError_t refuse(const LaunchRequest& r, hipError_t error, const char* why) {
  return failWork(error, "launch of %s with grid (%u,%u,%u), block (%u,%u,%u), %zu LDS bytes refused: %s",
                  r.name, r.grid.x, r.grid.y, r.grid.z, r.block.x, r.block.y, r.block.z, r.dynamicLds, why);
}

} // namespace
} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t __bitgate_launch_turns(const LaunchRequest* request, const PointerArgument* pointers,
                                  unsigned count, hipStream_t stream) {
  BITGATE_ENTRY;
  const LaunchRequest& r = *request;
  const Settings now = settings();
  const bool isCooperative = std::exchange(isNextCooperative, false);
  const auto invalid = [&](const char* why) { return refuse(r, hipErrorInvalidConfiguration, why); };
  if (!r.grid.x || !r.grid.y || !r.grid.z || !r.block.x || !r.block.y || !r.block.z)
    return invalid("a dimension is zero");
  if (static_cast<uint64_t>(r.block.x) * r.block.y * r.block.z > maxBlockThreads || r.block.x > 1024 ||
      r.block.y > 1024 || r.block.z > 1024)
    return invalid("a block has at most 1024 threads");
  if (r.grid.x > maxGridX || r.grid.y > maxGridYZ || r.grid.z > maxGridYZ)
    return invalid("a grid has at most 2147483647 x 65535 x 65535 blocks");
  if (r.dynamicLds > now.ldsLimit)
    return invalid("more LDS than a block may use (bitgateHostSetLdsLimit)");
  if (r.waveSize != 0 && r.waveSize != 32 && r.waveSize != 64)
    return invalid("a wave has 32 or 64 lanes");
  const uint64_t blocks = static_cast<uint64_t>(r.grid.x) * r.grid.y * r.grid.z;
  if (isCooperative) {
    const unsigned perBlock = r.block.x * r.block.y * r.block.z;
    const uint64_t most = std::min<uint64_t>(
        static_cast<uint64_t>(occupancy(now, static_cast<int>(perBlock), r.dynamicLds)) * now.computeUnits,
        workersForStacks(perBlock));
    if (blocks > most)
      return refuse(r, hipErrorCooperativeLaunchTooLarge,
                    ("of a cooperative launch at most " + std::to_string(most) +
                     " such blocks are resident at once (hipOccupancyMaxActiveBlocksPerMultiprocessor)")
                        .c_str());
  }
  const PointerArgument* const end = pointers + count;
  const PointerArgument* const bad =
      std::find_if(pointers, end, [](const PointerArgument& p) { return isHostPointer(p.value); });
  auto work = std::make_unique<KernelWork>(r, bad == end ? nullptr : bad, now, isCooperative ? blocks : 0);
  for (const PointerArgument* pointer = pointers; pointer != end; ++pointer)
    work->addHostMemory(pointer->value);
  const hipError_t error = enqueue(stream, std::move(work));
  if (error == hipSuccess)
    logLaunch(r);
  return error;
}

// Called by __bitgate_syncthreads and its like (fiber.cpp), and by nobody else.
__attribute__((used, visibility("hidden"))) const ThreadRecord* bitgate_barrier(void* stack) {
  return currentRunner()->barrier(stack);
}

__attribute__((used, visibility("hidden"))) const ThreadRecord*
bitgate_barrier_for_work(void (*run)(const void*), const void* work, void* stack) {
  return currentRunner()->barrierForWork(run, work, stack);
}

__attribute__((used, visibility("hidden"))) const ThreadRecord*
bitgate_wave_exchange(unsigned site, uint64_t bits, void* stack) {
  return currentRunner()->waveExchange(site, bits, stack);
}

void __bitgate_cooperative_next(void) {
  isNextCooperative = true;
}

void __bitgate_grid_sync(void) {
  currentRunner()->gridSync();
}

bool __bitgate_next_turns(Turns* turns) {
  currentRunner()->nextTurns(*turns);
  return true;
}

int __bitgate_syncthreads_reduce(int kind, int predicate) {
  return currentRunner()->barrierReduce(kind, predicate);
}

void* __bitgate_lds_at(const void* site, size_t bytes, size_t alignment) {
  return currentRunner()->ldsRegion(site, bytes, alignment);
}

void* __bitgate_lds(size_t bytes, size_t alignment) {
  return __bitgate_lds_at(nullptr, bytes, alignment);
}

void* __bitgate_dynamic_lds(void) {
  return currentRunner()->dynamicLds();
}

void __bitgate_assert_failed(const char* expression, const char* file, int line) {
  BlockRunner* const runner = currentRunner();
  if (!runner || !runner->inFiber()) {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
  }
  RawFault fault;
  fault.kind = bitgateFaultAssert;
  std::snprintf(fault.detail, sizeof fault.detail, "assertion failed at %.120s:%d: %.100s", file, line,
                expression);
  runner->abandon(fault);
}

int bitgateHostLastLaunch(BitgateHostLaunch* launch) {
  std::lock_guard lock(guard);
  if (launch)
    *launch = lastLaunch;
  return lastLaunch.sequence ? 0 : 1;
}

} // extern "C"

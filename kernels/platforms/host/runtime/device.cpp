// The one device: what it says about itself, and occupancy.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "block.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "error.hpp"
#include "fault.hpp"
#include "incident.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace bitgate_host {
namespace {

constexpr char deviceName[] = "bitgate host (x86-64)";
constexpr int maxThreadsPerUnit = 2048;
constexpr int maxBlocksPerUnit = 32;

hipError_t badDevice(int device) {
  return fail(hipErrorInvalidDevice, "device %d does not exist: the host platform has device 0", device);
}

int clampToInt(size_t value) {
  return static_cast<int>(std::min<size_t>(value, 0x7FFFFFFF));
}

// One attribute: a constant, or what the settings say.
struct Attribute {
  hipDeviceAttribute_t attribute;
  int (*value)(const Settings&);
};

#define BITGATE_CONSTANT(name, number)                                                                       \
  {hipDeviceAttribute##name, [](const Settings&) -> int { return number; }}
#define BITGATE_SETTING(name, expression)                                                                    \
  {hipDeviceAttribute##name, [](const Settings& s) -> int { return expression; }}
constexpr Attribute attributes[] = {
    BITGATE_SETTING(MultiprocessorCount, static_cast<int>(s.computeUnits)),
    BITGATE_SETTING(PhysicalMultiProcessorCount, static_cast<int>(s.computeUnits)),
    BITGATE_SETTING(WarpSize, static_cast<int>(s.waveSize)),
    BITGATE_SETTING(MaxSharedMemoryPerBlock, clampToInt(s.ldsLimit)),
    BITGATE_SETTING(SharedMemPerBlockOptin, clampToInt(s.ldsLimit)),
    BITGATE_SETTING(SharedMemPerMultiprocessor, clampToInt(s.ldsLimit)),
    BITGATE_SETTING(MaxSharedMemoryPerMultiprocessor, clampToInt(s.ldsLimit)),
    BITGATE_SETTING(TotalGlobalMem, clampToInt(totalMemoryOf(s))),
    BITGATE_CONSTANT(MaxThreadsPerBlock, maxBlockThreads),
    BITGATE_CONSTANT(MaxThreadsPerMultiProcessor, maxThreadsPerUnit),
    BITGATE_CONSTANT(MaxBlocksPerMultiProcessor, maxBlocksPerUnit),
    BITGATE_CONSTANT(MaxBlockDimX, 1024),
    BITGATE_CONSTANT(MaxBlockDimY, 1024),
    BITGATE_CONSTANT(MaxBlockDimZ, 1024),
    BITGATE_CONSTANT(MaxThreadsDim, 1024),
    BITGATE_CONSTANT(MaxGridDimX, 0x7FFFFFFF),
    BITGATE_CONSTANT(MaxGridDimY, 65535),
    BITGATE_CONSTANT(MaxGridDimZ, 65535),
    BITGATE_CONSTANT(MaxRegistersPerBlock, 65536),
    BITGATE_CONSTANT(MaxRegistersPerMultiprocessor, 131072),
    BITGATE_CONSTANT(MaxAvailableVgprsPerThread, 512),
    BITGATE_CONSTANT(MaxPitch, 0x7FFFFFFF),
    BITGATE_CONSTANT(TotalConstantMemory, 0x7FFFFFFF),
    BITGATE_CONSTANT(ClockRate, 2000000),
    BITGATE_CONSTANT(ClockInstructionRate, 1000000),
    BITGATE_CONSTANT(WallClockRate, 1000000),
    BITGATE_CONSTANT(MemoryClockRate, 1600000),
    BITGATE_CONSTANT(MemoryBusWidth, 128),
    BITGATE_CONSTANT(L2CacheSize, 1 << 20),
    BITGATE_CONSTANT(TextureAlignment, 256),
    BITGATE_CONSTANT(TexturePitchAlignment, 256),
    BITGATE_CONSTANT(SurfaceAlignment, 256),
    BITGATE_CONSTANT(ComputeCapabilityMajor, 0),
    BITGATE_CONSTANT(ComputeCapabilityMinor, 1),
    BITGATE_CONSTANT(ComputeMode, 0),
    BITGATE_CONSTANT(AsyncEngineCount, 0),
    BITGATE_CONSTANT(DeviceOverlap, 0),
    BITGATE_CONSTANT(ConcurrentKernels, 0),
    BITGATE_CONSTANT(CooperativeLaunch, 1),
    BITGATE_CONSTANT(CooperativeMultiDeviceLaunch, 0),
    BITGATE_CONSTANT(ManagedMemory, 1),
    BITGATE_CONSTANT(ConcurrentManagedAccess, 1),
    BITGATE_CONSTANT(DirectManagedMemAccessFromHost, 1),
    BITGATE_CONSTANT(PageableMemoryAccess, 0),
    BITGATE_CONSTANT(PageableMemoryAccessUsesHostPageTables, 0),
    BITGATE_CONSTANT(CanMapHostMemory, 1),
    BITGATE_CONSTANT(CanUseHostPointerForRegisteredMem, 1),
    BITGATE_CONSTANT(HostRegisterSupported, 1),
    BITGATE_CONSTANT(UnifiedAddressing, 1),
    BITGATE_CONSTANT(HostNativeAtomicSupported, 1),
    BITGATE_CONSTANT(FineGrainSupport, 1),
    BITGATE_CONSTANT(IsLargeBar, 1),
    BITGATE_CONSTANT(Integrated, 1),
    BITGATE_CONSTANT(MemoryPoolsSupported, 0),
    BITGATE_CONSTANT(VirtualMemoryManagementSupported, 0),
    BITGATE_CONSTANT(ImageSupport, 0),
    BITGATE_CONSTANT(StreamPrioritiesSupported, 1),
    BITGATE_CONSTANT(CanUseStreamWaitValue, 0),
    BITGATE_CONSTANT(ComputePreemptionSupported, 0),
    BITGATE_CONSTANT(IsMultiGpuBoard, 0),
    BITGATE_CONSTANT(MultiGpuBoardGroupID, 0),
    BITGATE_CONSTANT(KernelExecTimeout, 0),
    BITGATE_CONSTANT(TccDriver, 0),
    BITGATE_CONSTANT(EccEnabled, 0),
    BITGATE_CONSTANT(GlobalL1CacheSupported, 0),
    BITGATE_CONSTANT(LocalL1CacheSupported, 0),
    BITGATE_CONSTANT(SingleToDoublePrecisionPerfRatio, 2),
    BITGATE_CONSTANT(PciBusId, 0),
    BITGATE_CONSTANT(PciDeviceId, 0),
    BITGATE_CONSTANT(PciDomainId, 0),
    BITGATE_CONSTANT(PciChipId, 0),
    BITGATE_CONSTANT(NumberOfXccs, 1),
    BITGATE_CONSTANT(AsicRevision, 0),
    BITGATE_CONSTANT(ReservedSharedMemPerBlock, 0),
    BITGATE_CONSTANT(PersistingL2CacheMaxSize, 0),
    BITGATE_CONSTANT(AccessPolicyMaxWindowSize, 0),
};
#undef BITGATE_CONSTANT
#undef BITGATE_SETTING

// Blocks of that shape that one compute unit holds: bounded by threads, blocks and LDS.
} // namespace

int occupancy(const Settings& now, int blockSize, size_t dynamicLds) {
  if (now.occupancy)
    return static_cast<int>(now.occupancy);
  const int wave = static_cast<int>(now.waveSize);
  const int threads = (blockSize + wave - 1) / wave * wave;
  int blocks = std::min(maxThreadsPerUnit / threads, maxBlocksPerUnit);
  if (dynamicLds)
    blocks = std::min(blocks, clampToInt(now.ldsLimit / dynamicLds));
  return blocks;
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipInit(unsigned flags) {
  BITGATE_ENTRY;
  return finish(flags ? hipErrorInvalidValue : hipSuccess);
}

hipError_t hipDriverGetVersion(int* version) {
  BITGATE_ENTRY;
  if (!version)
    return finish(hipErrorInvalidValue);
  *version = HIP_VERSION;
  return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) {
  return hipDriverGetVersion(version);
}

hipError_t hipGetDeviceCount(int* count) {
  BITGATE_ENTRY;
  if (!count)
    return finish(hipErrorInvalidValue);
  *count = 1;
  return hipSuccess;
}

hipError_t hipGetDevice(int* device) {
  BITGATE_ENTRY;
  if (!device)
    return finish(hipErrorInvalidValue);
  *device = 0;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  BITGATE_ENTRY;
  return device == 0 ? hipSuccess : badDevice(device);
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  BITGATE_ENTRY;
  if (!device)
    return finish(hipErrorInvalidValue);
  if (ordinal != 0)
    return badDevice(ordinal);
  *device = 0;
  return hipSuccess;
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!name || length <= 0)
    return finish(hipErrorInvalidValue);
  std::snprintf(name, static_cast<size_t>(length), "%s", deviceName);
  return hipSuccess;
}

hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!uuid)
    return finish(hipErrorInvalidValue);
  std::memcpy(uuid->bytes, "bitgate-host-000", sizeof uuid->bytes);
  return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char* pciBusId, int length, int device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!pciBusId || length < 13)
    return finish(hipErrorInvalidValue);
  std::snprintf(pciBusId, static_cast<size_t>(length), "0000:00:00.0");
  return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!major || !minor)
    return finish(hipErrorInvalidValue);
  *major = 0, *minor = 1;
  return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!bytes)
    return finish(hipErrorInvalidValue);
  *bytes = totalMemoryOf(settings());
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  const auto* found = std::find_if(std::begin(attributes), std::end(attributes),
                                   [=](const Attribute& a) { return a.attribute == attribute; });
  if (!value || found == std::end(attributes))
    return fail(hipErrorInvalidValue, "hipDeviceGetAttribute: the host has no attribute %d",
                static_cast<int>(attribute));
  *value = found->value(settings());
  return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* properties, int device) {
  BITGATE_ENTRY;
  if (device != 0)
    return badDevice(device);
  if (!properties)
    return finish(hipErrorInvalidValue);
  const Settings now = settings();
  const auto value = [&](hipDeviceAttribute_t attribute) {
    int out = 0;
    hipDeviceGetAttribute(&out, attribute, 0);
    return out;
  };
  hipDeviceProp_t& p = *properties;
  std::memset(&p, 0, sizeof p);
  std::snprintf(p.name, sizeof p.name, "%s", deviceName);
  const char* pretended = pretendedGpu();
  std::snprintf(p.gcnArchName, sizeof p.gcnArchName, "%s", pretended ? pretended : "host");
  hipDeviceGetUuid(&p.uuid, 0);
  p.totalGlobalMem = totalMemoryOf(now);
  p.sharedMemPerBlock = p.sharedMemPerMultiprocessor = p.sharedMemPerBlockOptin = now.ldsLimit;
  p.maxSharedMemoryPerMultiProcessor = now.ldsLimit;
  p.regsPerBlock = value(hipDeviceAttributeMaxRegistersPerBlock);
  p.regsPerMultiprocessor = value(hipDeviceAttributeMaxRegistersPerMultiprocessor);
  p.warpSize = static_cast<int>(now.waveSize);
  p.memPitch = 0x7FFFFFFF;
  p.maxThreadsPerBlock = maxBlockThreads;
  p.maxThreadsPerMultiProcessor = maxThreadsPerUnit;
  p.maxBlocksPerMultiProcessor = maxBlocksPerUnit;
  for (int& dim : p.maxThreadsDim)
    dim = 1024;
  p.maxGridSize[0] = 0x7FFFFFFF, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.clockRate = value(hipDeviceAttributeClockRate);
  p.clockInstructionRate = value(hipDeviceAttributeClockInstructionRate);
  p.memoryClockRate = value(hipDeviceAttributeMemoryClockRate);
  p.memoryBusWidth = value(hipDeviceAttributeMemoryBusWidth);
  p.l2CacheSize = value(hipDeviceAttributeL2CacheSize);
  p.totalConstMem = 0x7FFFFFFF;
  p.minor = 1;
  p.multiProcessorCount = static_cast<int>(now.computeUnits);
  p.textureAlignment = p.texturePitchAlignment = p.surfaceAlignment = 256;
  p.integrated = p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = 1;
  p.concurrentManagedAccess = 1; // but no pageable memory: host_pointer.hpp
  p.directManagedMemAccessFromHost = p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = 1;
  p.hostNativeAtomicSupported = p.streamPrioritiesSupported = p.isLargeBar = 1;
  p.arch.hasGlobalInt32Atomics = p.arch.hasGlobalFloatAtomicExch = p.arch.hasSharedInt32Atomics = 1;
  p.arch.hasSharedFloatAtomicExch = p.arch.hasFloatAtomicAdd = p.arch.hasGlobalInt64Atomics = 1;
  p.arch.hasSharedInt64Atomics = p.arch.hasDoubles = p.arch.hasWarpVote = p.arch.hasWarpBallot = 1;
  p.arch.hasWarpShuffle = p.arch.hasThreadFenceSystem = p.arch.hasSyncThreadsExt = p.arch.has3dGrid = 1;
  return hipSuccess;
}

hipError_t hipDeviceReset(void) {
  BITGATE_ENTRY;
  drainAll();
  dropPendingError();
  BitgateHostFault fault{};
  fault.is_write = -1;
  std::snprintf(fault.text, sizeof fault.text,
                "hipDeviceReset: whose memory and streams it ends cannot go on (the host keeps them)");
  noteIncident(fault);
  return hipSuccess;
}

hipError_t hipSetDeviceFlags(unsigned) {
  BITGATE_ENTRY;
  return hipSuccess;
}

hipError_t hipGetDeviceFlags(unsigned* flags) {
  BITGATE_ENTRY;
  if (!flags)
    return finish(hipErrorInvalidValue);
  *flags = hipDeviceScheduleAuto;
  return hipSuccess;
}

hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit) {
  BITGATE_ENTRY;
  if (!value || limit != hipLimitStackSize)
    return fail(hipErrorUnsupportedLimit, "the host has one limit: hipLimitStackSize");
  *value = stackBytes;
  return hipSuccess;
}

hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  BITGATE_ENTRY;
  if (limit == hipLimitStackSize && value <= stackBytes)
    return hipSuccess;
  return fail(hipErrorUnsupportedLimit,
              "a thread's stack has %zu bytes on the host, and no other limit can be set", stackBytes);
}

hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  BITGATE_ENTRY;
  if (!config)
    return finish(hipErrorInvalidValue);
  *config = hipFuncCachePreferNone;
  return hipSuccess;
}

hipError_t hipDeviceSetCacheConfig(hipFuncCache_t) {
  BITGATE_ENTRY;
  return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int* canAccess, int device, int peer) {
  BITGATE_ENTRY;
  if (device != 0 || peer != 0)
    return badDevice(device ? device : peer);
  if (!canAccess)
    return finish(hipErrorInvalidValue);
  *canAccess = 0;
  return hipSuccess;
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int blockSize,
                                                        size_t dynamicLds) {
  BITGATE_ENTRY;
  if (!blocks || !function || blockSize <= 0 || blockSize > static_cast<int>(maxBlockThreads))
    return finish(hipErrorInvalidValue);
  *blocks = occupancy(settings(), blockSize, dynamicLds);
  return hipSuccess;
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                 int blockSize, size_t dynamicLds, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, blockSize, dynamicLds);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, const void* function,
                                             size_t dynamicLds, int blockSizeLimit) {
  BITGATE_ENTRY;
  if (!gridSize || !blockSize || !function)
    return finish(hipErrorInvalidValue);
  const Settings now = settings();
  *blockSize = blockSizeLimit > 0 ? std::min<int>(blockSizeLimit, maxBlockThreads) : 256;
  *gridSize = occupancy(now, *blockSize, dynamicLds) * static_cast<int>(now.computeUnits);
  return hipSuccess;
}

} // extern "C"

// Stands in for ROCm's libamdhip64.so where there is no AMD GPU: memory is the host's, nothing is computed,
// and every launch is written down with its arguments. What it claims to be is said by the file that
// $STAND_IN names:
//   device gfx942:sramecc+:xnack- free=0 total=206158430208 cu=304   one a device
//   fail hipMalloc 2 after=30                                        a function's error, after 30 calls
//   error 4242 hipErrorOutOfMemory                                   what an error's number means
//   abort hipGetDeviceCount                                          a function ends the process
//   properties other                                                 hipDeviceProp_t of another layout
//   version 60443482                                                 hipRuntimeGetVersion
// stand_in.py builds it, with the symbol versions and without the functions that a test names.
#include <elf.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))
namespace {

enum : int { success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100, invalid_device = 101 };
enum : int {
  no_binary_for_gpu = 209,
  ecc_not_correctable = 214,

  invalid_device_function = 98,
  not_supported = 801
};

struct Device {
  std::string arch;
  std::map<std::string, uint64_t> facts;
  uint64_t fact(const std::string& name, uint64_t otherwise) const {
    const auto found = facts.find(name);
    return found == facts.end() ? otherwise : found->second;
  }
};

struct Failure {
  int status = 0;
  long calls_before = 0;
};

struct Stage {
  std::vector<Device> devices;
  std::map<std::string, Failure> failing;
  std::map<int, std::string> errors;
  std::string aborting;
  bool other_properties = false;
  int version = 60443482;

  Stage() {
    const char* path = std::getenv("STAND_IN");
    std::ifstream file(path ? path : "");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string what, name, fact;
      words >> what >> name;
      if (what == "device") {
        Device device{name, {}};
        while (words >> fact)
          device.facts[fact.substr(0, fact.find('='))] = std::stoull(fact.substr(fact.find('=') + 1));
        devices.push_back(device);
      } else if (what == "fail") {
        Failure& failure = failing[name];
        words >> failure.status;
        if (words >> fact)
          failure.calls_before = std::stol(fact.substr(fact.find('=') + 1));
      } else if (what == "abort") {
        aborting = name;
      } else if (what == "error") {
        words >> errors[std::stoi(name)];
      } else if (what == "properties") {
        other_properties = name == "other";
      } else if (what == "version") {
        version = std::stoi(name);
      }
    }
  }
};

Stage& stage() {
  static Stage one;
  return one;
}

thread_local int current = 0;
thread_local int last_error = success;

int done(const char* function, int status = success) {
  if (stage().aborting == function) {
    std::fprintf(stderr, "stand-in: %s aborts\n", function);
    std::abort();
  }
  const auto failing = stage().failing.find(function);
  if (failing != stage().failing.end() && failing->second.calls_before-- <= 0)
    status = failing->second.status;
  else if (stage().devices.empty() && status == success && std::strstr(function, "Version") == nullptr)
    status = no_device;
  if (status != success)
    last_error = status;
  return status;
}

const Device* device_of(int index) {
  const auto& devices = stage().devices;
  return index >= 0 && index < static_cast<int>(devices.size()) ? &devices[static_cast<size_t>(index)]
                                                                : nullptr;
}

// ---- launches ----

struct Dim {
  uint32_t x, y, z;
};

struct Launch {
  std::string kernel;
  Dim grid, block;
  uint64_t lds;
  std::vector<uint8_t> kernarg;
  int configured; // by __hipPushCallConfiguration
};

struct Kernel {
  std::string name;
  bool found; // in a code object for the current device
};

struct Binary {
  std::vector<std::string> targets;
  std::vector<std::string> descriptors;
};

std::mutex lock;
std::map<const void*, Kernel> kernels;
std::map<std::string, std::vector<std::array<uint32_t, 2>>> arguments; // offset, size
std::vector<Launch> launches;
struct Configuration {
  Dim grid, block;
  size_t lds;
  void* stream;
};
thread_local std::vector<Configuration> configurations;
thread_local int popped = 0;

template <class T> T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Names of kernel descriptors (<kernel>.kd) in a code object.
void descriptors_of(const uint8_t* elf, uint64_t size, std::vector<std::string>& names) {
  if (size < sizeof(Elf64_Ehdr) || std::memcmp(elf, ELFMAG, SELFMAG) != 0)
    return;
  const auto header = read<Elf64_Ehdr>(elf);
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section =
        read<Elf64_Shdr>(elf + header.e_shoff + static_cast<uint64_t>(i) * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM)
      continue;
    const auto strings =
        read<Elf64_Shdr>(elf + header.e_shoff + static_cast<uint64_t>(section.sh_link) * sizeof(Elf64_Shdr));
    for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(elf + section.sh_offset + at);
      const std::string name = reinterpret_cast<const char*>(elf + strings.sh_offset + symbol.st_name);
      if (name.size() > 3 && name.substr(name.size() - 3) == ".kd")
        names.push_back(name.substr(0, name.size() - 3));
    }
  }
}

// clang's offload bundle: a magic word, the number of entries, and offset, size and target of each.
Binary* unbundled(const uint8_t* bundle) {
  static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
  auto* binary = new Binary;
  if (std::memcmp(bundle, magic, sizeof magic - 1) != 0)
    return binary;
  const uint8_t* at = bundle + sizeof magic - 1;
  const auto count = read<uint64_t>(at);
  at += 8;
  for (uint64_t i = 0; i < count; ++i) {
    const auto offset = read<uint64_t>(at), size = read<uint64_t>(at + 8), length = read<uint64_t>(at + 16);
    const std::string target(reinterpret_cast<const char*>(at + 24), length);
    at += 24 + length;
    const Device* device = device_of(0);
    const std::string arch = device ? device->arch.substr(0, device->arch.find(':')) : "";
    if (!arch.empty() && target.find("--" + arch) != std::string::npos) {
      binary->targets.push_back(target);
      descriptors_of(bundle + offset, size, binary->descriptors);
    }
  }
  return binary;
}

int noted(const void* function, Dim grid, Dim block, void** values, size_t lds) {
  const std::lock_guard<std::mutex> guard(lock);
  const auto kernel = kernels.find(function);
  if (kernel == kernels.end())
    return invalid_device_function;
  if (!kernel->second.found)
    return no_binary_for_gpu;
  Launch launch{kernel->second.name, grid, block, lds, {}, popped};
  popped = 0;
  const auto layout = arguments.find(launch.kernel);
  if (layout != arguments.end()) { // else nobody is going to ask for them
    for (size_t i = 0; i < layout->second.size(); ++i) {
      const auto [offset, size] = layout->second[i];
      launch.kernarg.resize(offset + size);
      std::memcpy(launch.kernarg.data() + offset, values[i], size);
    }
  }
  launches.push_back(launch);
  return success;
}

} // namespace

// ---- what clang's host code calls ----

API void** __hipRegisterFatBinary(const void* data) {
  struct Wrapper {
    uint32_t magic, version;
    const void* binary;
    void* unused;
  };
  const auto* wrapper = static_cast<const Wrapper*>(data);
  if (wrapper->magic != 0x48495046) {
    std::fprintf(stderr, "stand-in: a fat binary begins with %#x\n", wrapper->magic);
    std::abort();
  }
  return reinterpret_cast<void**>(unbundled(static_cast<const uint8_t*>(wrapper->binary)));
}
API void __hipUnregisterFatBinary(void** modules) {
  delete reinterpret_cast<Binary*>(modules);
}
API void __hipRegisterFunction(void** modules, const void* host, char*, const char* name, unsigned, void*,
                               void*, void*, void*, int*) {
  const std::lock_guard<std::mutex> guard(lock);
  const auto& held = reinterpret_cast<Binary*>(modules)->descriptors;
  bool found = false;
  for (const std::string& descriptor : held)
    found = found || descriptor == name;
  kernels[host] = {name, found};
}
API void __hipRegisterVar(void**, void*, char*, const char*, int, size_t, int, int) {}
API int __hipPushCallConfiguration(Dim grid, Dim block, size_t lds, void* stream) {
  configurations.push_back({grid, block, lds, stream});
  return success;
}
API int __hipPopCallConfiguration(Dim* grid, Dim* block, size_t* lds, void** stream) {
  if (configurations.empty())
    return invalid_value;
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid, *block = last.block, *lds = last.lds, *stream = last.stream;
  popped = 1;
  return success;
}
API int hipLaunchKernel(const void* function, Dim grid, Dim block, void** values, size_t lds, void*) {
  return done("hipLaunchKernel", noted(function, grid, block, values, lds));
}

// ---- what a test asks of the stand-in itself ----

API void standInKernel(const char* name, const uint32_t* offsets_and_sizes, int count) {
  auto& layout = arguments[name];
  layout.clear();
  for (int i = 0; i < count; ++i)
    layout.push_back({offsets_and_sizes[2 * i], offsets_and_sizes[2 * i + 1]});
}
API int standInLaunches() {
  return static_cast<int>(launches.size());
}
API const char* standInLaunch(int number, uint32_t* grid_and_block, uint64_t* lds, const uint8_t** kernarg,
                              uint64_t* bytes, int* configured) {
  const Launch& launch = launches[static_cast<size_t>(number)];
  const uint32_t sizes[] = {launch.grid.x,  launch.grid.y,  launch.grid.z,
                            launch.block.x, launch.block.y, launch.block.z};
  std::memcpy(grid_and_block, sizes, sizeof sizes);
  *lds = launch.lds, *kernarg = launch.kernarg.data(), *bytes = launch.kernarg.size();
  *configured = launch.configured;
  return launch.kernel.c_str();
}
API void standInForget() {
  launches.clear();
}

// ---- HIP ----

API int hipInit(unsigned) {
  return done("hipInit");
}
API int hipDriverGetVersion(int* version) {
  *version = stage().version;
  return done("hipDriverGetVersion");
}
API int hipRuntimeGetVersion(int* version) {
  *version = stage().version;
  return done("hipRuntimeGetVersion");
}
API int hipGetDeviceCount(int* count) {
  *count = static_cast<int>(stage().devices.size());
  return done("hipGetDeviceCount");
}
API int hipGetDevice(int* index) {
  *index = current;
  return done("hipGetDevice");
}
API int hipSetDevice(int index) {
  if (device_of(index) == nullptr)
    return done("hipSetDevice", invalid_device);
  current = index;
  return done("hipSetDevice");
}
API int hipDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "Stand-in");
  return done("hipDeviceGetName");
}
API int hipDeviceGetPCIBusId(char* id, int length, int index) {
  std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", index + 1);
  return done("hipDeviceGetPCIBusId");
}
API int hipDeviceGetAttribute(int* value, int attribute, int index) {
  const Device* device = device_of(index);
  if (device == nullptr)
    return done("hipDeviceGetAttribute", invalid_device);
  const auto stated = device->facts.find("attribute" + std::to_string(attribute));
  // ROCm 6: 63 multiprocessors, 87 lanes of a wave, 56 threads a block, 74 LDS a block.
  *value = stated != device->facts.end() ? static_cast<int>(stated->second)
           : attribute == 63             ? static_cast<int>(device->fact("cu", 8))
           : attribute == 87             ? static_cast<int>(device->fact("wave", 64))
           : attribute == 56             ? 1024
           : attribute == 74             ? 65536
                                         : 0;
  return done("hipDeviceGetAttribute");
}

namespace {
// The name of the architecture lies at byte 1160 of ROCm 6's structure and at 396 of ROCm 5's.
int properties(uint8_t* properties, int index, const char* function, size_t bytes, size_t arch) {
  const Device* device = device_of(index);
  if (device == nullptr)
    return done(function, invalid_device);
  std::memset(properties, 0, bytes);
  std::snprintf(reinterpret_cast<char*>(properties), 256, "Stand-in");
  const size_t at = stage().other_properties ? arch + 64 : arch;
  std::snprintf(reinterpret_cast<char*>(properties) + at, 64, "%s", device->arch.c_str());
  return done(function);
}
} // namespace
API int hipGetDevicePropertiesR0600(uint8_t* to, int index) {
  return properties(to, index, "hipGetDevicePropertiesR0600", 1472, 1160);
}
API int hipGetDeviceProperties(uint8_t* to, int index) {
  return properties(to, index, "hipGetDeviceProperties", 792, 396);
}
API int hipGetDevicePropertiesR0000(uint8_t* to, int index) {
  return properties(to, index, "hipGetDevicePropertiesR0000", 792, 396);
}
API int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 1;
  return done("hipOccupancyMaxActiveBlocksPerMultiprocessor");
}
API int hipDeviceSynchronize() {
  return done("hipDeviceSynchronize");
}

API const char* hipGetErrorName(int error) {
  const auto stated = stage().errors.find(error);
  if (stated != stage().errors.end())
    return stated->second.c_str();
  switch (error) {
  case success:
    return "hipSuccess";
  case invalid_value:
    return "hipErrorInvalidValue";
  case ecc_not_correctable:
    return "hipErrorECCNotCorrectable";
  case out_of_memory:
    return "hipErrorOutOfMemory";
  case no_device:
    return "hipErrorNoDevice";
  case no_binary_for_gpu:
    return "hipErrorNoBinaryForGpu";
  default:
    return "hipErrorUnknown";
  }
}
API const char* hipGetErrorString(int error) {
  return hipGetErrorName(error);
}
API int hipGetLastError() {
  const int error = last_error;
  last_error = success;
  return error;
}
API int hipPeekAtLastError() {
  return last_error;
}

API int hipMalloc(void** pointer, size_t bytes) {
  const Device* device = device_of(current);
  *pointer = nullptr;
  if (device != nullptr && bytes > device->fact("free", uint64_t{64} << 30))
    return done("hipMalloc", out_of_memory);
  const int status = done("hipMalloc");
  if (status == success)
    *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return status;
}
API int hipFree(void* pointer) {
  std::free(pointer);
  return done("hipFree");
}
API int hipMemGetInfo(size_t* free, size_t* total) {
  const Device* device = device_of(current);
  *free = device ? device->fact("free", uint64_t{64} << 30) : 0;
  *total = device ? device->fact("total", uint64_t{64} << 30) : 0;
  return done("hipMemGetInfo");
}
API int hipMemset(void* to, int value, size_t bytes) {
  std::memset(to, value, bytes);
  return done("hipMemset");
}
API int hipMemsetAsync(void* to, int value, size_t bytes, void*) {
  std::memset(to, value, bytes);
  return done("hipMemsetAsync");
}
API int hipMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return done("hipMemcpy");
}
API int hipMemcpyAsync(void* to, const void* from, size_t bytes, int, void*) {
  std::memcpy(to, from, bytes);
  return done("hipMemcpyAsync");
}

API int hipStreamBeginCapture(void*, int) {
  return done("hipStreamBeginCapture");
}
API int hipStreamEndCapture(void*, void** graph) {
  *graph = nullptr;
  return done("hipStreamEndCapture");
}
API int hipGraphInstantiateWithFlags(void** executable, void*, unsigned long long) {
  *executable = nullptr;
  return done("hipGraphInstantiateWithFlags");
}
API int hipGraphLaunch(void*, void*) {
  return done("hipGraphLaunch");
}
API int hipGraphExecDestroy(void*) {
  return done("hipGraphExecDestroy");
}
API int hipGraphDestroy(void*) {
  return done("hipGraphDestroy");
}
API int hipStreamCreateWithFlags(void** stream, unsigned) {
  *stream = std::malloc(1);
  return done("hipStreamCreateWithFlags");
}
API int hipStreamDestroy(void* stream) {
  std::free(stream);
  return done("hipStreamDestroy");
}
#define ANSWERS(name)                                                                                        \
  API int name(void*) {                                                                                      \
    return done(#name);                                                                                      \
  }
ANSWERS(hipStreamSynchronize)
ANSWERS(hipStreamQuery)
API int hipEventCreate(void** event) {
  *event = new std::chrono::steady_clock::time_point();
  return done("hipEventCreate");
}
API int hipEventRecord(void* event, void*) {
  *static_cast<std::chrono::steady_clock::time_point*>(event) = std::chrono::steady_clock::now();
  return done("hipEventRecord");
}
ANSWERS(hipEventSynchronize)
API int hipEventElapsedTime(float* milliseconds, void* from, void* to) {
  using Point = std::chrono::steady_clock::time_point;
  *milliseconds =
      std::chrono::duration<float, std::milli>(*static_cast<Point*>(to) - *static_cast<Point*>(from)).count();
  return done("hipEventElapsedTime");
}
API int hipEventDestroy(void* event) {
  delete static_cast<std::chrono::steady_clock::time_point*>(event);
  return done("hipEventDestroy");
}

// Kernels of a module: device code that is compiled already, which the generated unit holds as bytes. They
// are launched, and written into the DispatchRecord, as those of a source are (source.hpp); what is known of
// their parameters is what bitgate.kernel.build.device_module read in the file.
#pragma once

#include <map>
#include <mutex>

#include "bitgate/source.hpp"

// A file's bytes, and a zero after them, which PTX is to end with. Host code holds them alone.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define BITGATE_MODULE_IMAGE(path)
#else
#define BITGATE_MODULE_IMAGE(path)                                                                           \
  asm(".pushsection .rodata\n.balign 64\n.hidden bitgate_module_image\n.globl bitgate_module_image\n"        \
      "bitgate_module_image:\n.incbin \"" path "\"\n.byte 0\n.popsection\n");
#endif

extern "C" BITGATE_HIDDEN const unsigned char bitgate_module_image[];

namespace bitgate::detail {

#if defined(BITGATE_PLATFORM_AMD)
using ModuleFunction = hipFunction_t;

inline hipError_t function_in_module(ModuleFunction& function, const char* symbol) {
  static hipModule_t module = nullptr;
  if (module == nullptr)
    if (const hipError_t error = hipModuleLoadData(&module, bitgate_module_image); error != hipSuccess)
      return error;
  return hipModuleGetFunction(&function, module, symbol);
}

inline hipError_t enqueue_module(ModuleFunction function, dim3 grid, dim3 block, void** arguments,
                                 size_t lds_bytes, hipStream_t stream) {
  return hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                               static_cast<unsigned>(lds_bytes), stream, arguments, nullptr);
}
#elif defined(BITGATE_PLATFORM_NVIDIA)
using ModuleFunction = cudaKernel_t;

inline hipError_t function_in_module(ModuleFunction& function, const char* symbol) {
  static cudaLibrary_t library = nullptr;
  if (library == nullptr)
    if (const cudaError_t error =
            cudaLibraryLoadData(&library, bitgate_module_image, nullptr, nullptr, 0, nullptr, nullptr, 0);
        error != cudaSuccess)
      return static_cast<hipError_t>(bitgateNvidiaTranslate(error));
  return static_cast<hipError_t>(bitgateNvidiaTranslate(cudaLibraryGetKernel(&function, library, symbol)));
}

inline hipError_t enqueue_module(ModuleFunction function, dim3 grid, dim3 block, void** arguments,
                                 size_t lds_bytes, hipStream_t stream) {
  return hipLaunchKernel(reinterpret_cast<const void*>(function), grid, block, arguments, lds_bytes, stream);
}
#else
#error "bitgate: a module is device code that is compiled: it runs on no host"
#endif

// The function of a symbol. The module is loaded, and stays, once one of its kernels is launched.
inline hipError_t loaded_function(ModuleFunction& function, const char* symbol) {
  static std::mutex mutex;
  static std::map<std::string, ModuleFunction> found;
  const std::lock_guard lock(mutex);
  const auto known = found.find(symbol);
  if (known != found.end()) {
    function = known->second;
    return hipSuccess;
  }
  const hipError_t error = function_in_module(function, symbol);
  if (error == hipSuccess)
    found.emplace(symbol, function);
  return error;
}

inline int32_t relaunch_module(const bitgate_launch* event, const uint8_t* kernargs, void* stream) {
  void* arguments[BITGATE_MAX_ARGS] = {};
  alignas(16) uint8_t bytes[max_kernarg_bytes];
  std::memcpy(bytes, kernargs, event->kernarg_bytes);
  for (uint32_t i = 0; i < event->arg_count && i < BITGATE_MAX_ARGS; ++i)
    arguments[i] = bytes + event->args[i].offset;
  const uint32_t(&grid)[3] = event->grid, (&block)[3] = event->block;
  return enqueue_module(reinterpret_cast<ModuleFunction>(event->function), dim3(grid[0], grid[1], grid[2]),
                        dim3(block[0], block[1], block[2]), arguments, event->lds_bytes,
                        static_cast<hipStream_t>(stream));
}

// SourceKernel::Start of a module's kernel: its name is the symbol, a list has at most BITGATE_MAX_ARGS
// arguments.
inline void start_module(const SourceKernel& kernel, Context& context, dim3 grid, dim3 block,
                         size_t lds_bytes, const uint8_t* kernargs) {
  if (context.error != hipSuccess)
    return;
  ModuleFunction function{};
  context.error = loaded_function(function, kernel.name());
  if (context.error != hipSuccess)
    return;
  bitgate_dispatch_record& record = context.record;
  bitgate_launch* event = next_event(record, BITGATE_KERNEL, kernel.name());
  bitgate_launch scratch{};
  bitgate_launch& note = event ? *event : scratch;
  const uint32_t grid_size[3] = {grid.x, grid.y, grid.z}, block_size[3] = {block.x, block.y, block.z};
  std::memcpy(note.grid, grid_size, sizeof grid_size);
  std::memcpy(note.block, block_size, sizeof block_size);
  note.wave_size = static_cast<int32_t>(context.wave_size);
  note.lds_bytes = lds_bytes;
  note.function = reinterpret_cast<uint64_t>(function);
  note.launcher = relaunch_module;
  for (const SourceKernel::Parameter& parameter : kernel.parameters()) {
    const bool is_pointer = parameter.is_pointer && !parameter.is_value;
    if (note.arg_count < BITGATE_MAX_ARGS)
      note.args[note.arg_count] = {parameter.offset, parameter.size,
                                   is_pointer ? uint32_t{BITGATE_ARG_POINTER} : uint32_t{BITGATE_ARG_VALUE}};
    ++note.arg_count;
    note.kernarg_bytes = parameter.offset + parameter.size;
  }
  note.kernarg_offset = (record.kernarg_count + 15) / 16 * 16;
  record.kernarg_count = note.kernarg_offset + note.kernarg_bytes;
  if (record.kernargs != nullptr && record.kernarg_count <= record.kernarg_capacity)
    std::memcpy(record.kernargs + note.kernarg_offset, kernargs, note.kernarg_bytes);
  context.error = static_cast<hipError_t>(relaunch_module(&note, kernargs, context.stream));
}

} // namespace bitgate::detail

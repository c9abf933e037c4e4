// The one way to the device: every kernel, memset and copy of every platform goes through here, is written
// into the DispatchRecord with its arguments, and is checked. That is what makes crashes named and capsules
// possible.
//
// Pointers are arguments of their own, never members of a struct argument, so that a capsule can relocate
// them.
#pragma once

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "bitgate/abi.h"
#include "bitgate/platform.hpp"

namespace bitgate {

inline constexpr size_t max_kernarg_bytes = 4096;

// One run's way to the device. The first HIP error sticks: what follows it is not launched.
struct Context {
  bitgate_dispatch_record& record;
  hipStream_t stream;
  unsigned wave_size; // 0: the device's
  hipError_t error = hipSuccess;
};

namespace detail {

// The record's next event, or null where the caller's array is full; the count goes on either way.
inline bitgate_launch* next_event(bitgate_dispatch_record& record, bitgate_event_kind kind,
                                  const char* name) {
  const uint32_t index = record.event_count++;
  if (record.events == nullptr || index >= record.event_capacity)
    return nullptr;
  bitgate_launch& event = record.events[index];
  event = {};
  event.kind = kind;
  std::snprintf(event.name, sizeof event.name, "%s", name);
  return &event;
}

// Where the arguments lie in the kernel's argument block: each at its natural alignment, in order.
struct KernargLayout {
  uint32_t end = 0;
  uint32_t place(size_t size, size_t alignment) {
    const uint32_t offset = static_cast<uint32_t>((end + alignment - 1) / alignment * alignment);
    end = offset + static_cast<uint32_t>(size);
    return offset;
  }
};

template <class Param>
void note_argument(bitgate_launch& event, KernargLayout& layout, uint8_t* bytes, const Param& value) {
  const uint32_t offset = layout.place(sizeof(Param), alignof(Param));
  if (event.arg_count < BITGATE_MAX_ARGS)
    event.args[event.arg_count] = {offset, sizeof(Param),
                                   std::is_pointer_v<Param> ? uint32_t{BITGATE_ARG_POINTER}
                                                            : uint32_t{BITGATE_ARG_VALUE}};
  ++event.arg_count;
  std::memcpy(bytes + offset, &value, sizeof(Param));
}

template <class... Params>
int32_t relaunch(const bitgate_launch* event, const uint8_t* kernargs, void* stream);

template <class... Params>
void note_launch(Context& context, const char* name, void (*kernel)(Params...), dim3 grid, dim3 block,
                 size_t lds_bytes, const std::tuple<Params...>& arguments) {
  bitgate_dispatch_record& record = context.record;
  bitgate_launch* event = next_event(record, BITGATE_KERNEL, name);
  bitgate_launch scratch{};
  bitgate_launch& note = event ? *event : scratch;
  uint8_t bytes[max_kernarg_bytes] = {};
  KernargLayout layout;
  std::apply([&](const Params&... values) { (note_argument(note, layout, bytes, values), ...); }, arguments);
  const uint32_t grid_size[3] = {grid.x, grid.y, grid.z}, block_size[3] = {block.x, block.y, block.z};
  std::memcpy(note.grid, grid_size, sizeof grid_size);
  std::memcpy(note.block, block_size, sizeof block_size);
  note.wave_size = static_cast<int32_t>(context.wave_size);
  note.lds_bytes = lds_bytes;
  note.function = reinterpret_cast<uint64_t>(kernel);
  note.launcher = relaunch<Params...>;
  note.kernarg_bytes = layout.end;
  note.kernarg_offset = (record.kernarg_count + 15) / 16 * 16;
  record.kernarg_count = note.kernarg_offset + layout.end;
  if (record.kernargs != nullptr && record.kernarg_count <= record.kernarg_capacity)
    std::memcpy(record.kernargs + note.kernarg_offset, bytes, layout.end);
}

template <class... Params>
hipError_t enqueue(hipStream_t stream, [[maybe_unused]] unsigned wave_size, [[maybe_unused]] const char* name,
                   void (*kernel)(Params...), dim3 grid, dim3 block, size_t lds_bytes,
                   std::tuple<Params...>& arguments) {
  return std::apply(
      [&](Params&... values) {
#if defined(BITGATE_PLATFORM_HOST)
        return bitgate_host::launch(name, kernel, grid, block, lds_bytes, stream, wave_size, values...);
#else
        void* addresses[] = {static_cast<void*>(&values)...};
        return hipLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, addresses, lds_bytes,
                               stream);
#endif
      },
      arguments);
}

// The next argument out of a kernel's argument block.
template <class Param> Param take_argument(KernargLayout& layout, const uint8_t* bytes) {
  std::array<uint8_t, sizeof(Param)> copy;
  std::memcpy(copy.data(), bytes + layout.place(sizeof(Param), alignof(Param)), sizeof(Param));
  return std::bit_cast<Param>(copy);
}

// bitgate_launch.launcher of all kernels with these parameters: what replays a capsule where kernels are
// functions of a library.
template <class... Params>
int32_t relaunch(const bitgate_launch* event, const uint8_t* kernargs, void* stream) {
  KernargLayout layout;
  std::tuple<Params...> arguments{take_argument<Params>(layout, kernargs)...}; // braces: from left to right
  const uint32_t(&grid)[3] = event->grid, (&block)[3] = event->block;
  return enqueue(static_cast<hipStream_t>(stream), static_cast<unsigned>(event->wave_size), event->name,
                 reinterpret_cast<void (*)(Params...)>(event->function), dim3(grid[0], grid[1], grid[2]),
                 dim3(block[0], block[1], block[2]), event->lds_bytes, arguments);
}

} // namespace detail

// Launches `kernel` on the context's stream. `name` is what reports call it. Returns false once an error
// happened.
template <class... Params, class... Args>
bool launch(Context& context, const char* name, void (*kernel)(Params...), dim3 grid, dim3 block,
            size_t lds_bytes, const Args&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args), "the kernel takes another number of arguments");
  static_assert(sizeof(std::tuple<Params...>) <= max_kernarg_bytes, "kernel arguments are at most 4 KiB");
  static_assert((std::is_trivially_copyable_v<Params> && ...), "kernel arguments are copied bytewise");
  if (context.error != hipSuccess)
    return false;
  std::tuple<Params...> arguments{static_cast<Params>(args)...};
  detail::note_launch(context, name, kernel, grid, block, lds_bytes, arguments);
  context.error =
      detail::enqueue(context.stream, context.wave_size, name, kernel, grid, block, lds_bytes, arguments);
  return context.error == hipSuccess;
}

// hipMemsetAsync on the context's stream, recorded.
inline bool memset_async(Context& context, const char* name, void* destination, int value, size_t bytes) {
  if (context.error != hipSuccess)
    return false;
  if (bitgate_launch* event = detail::next_event(context.record, BITGATE_MEMSET, name)) {
    event->address = reinterpret_cast<uint64_t>(destination);
    event->source = static_cast<uint64_t>(value);
    event->bytes = bytes;
  }
  context.error = hipMemsetAsync(destination, value, bytes, context.stream);
  return context.error == hipSuccess;
}

// hipMemcpyAsync between device buffers on the context's stream, recorded.
inline bool copy_async(Context& context, const char* name, void* destination, const void* source,
                       size_t bytes) {
  if (context.error != hipSuccess)
    return false;
  if (bitgate_launch* event = detail::next_event(context.record, BITGATE_COPY, name)) {
    event->address = reinterpret_cast<uint64_t>(destination);
    event->source = reinterpret_cast<uint64_t>(source);
    event->bytes = bytes;
  }
  context.error = hipMemcpyAsync(destination, source, bytes, hipMemcpyDeviceToDevice, context.stream);
  return context.error == hipSuccess;
}

} // namespace bitgate

// Copies and fills. Every device range is looked up in the table of buffers first: an access outside is
// refused and named, instead of corrupting something.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <optional>

#include "capture.hpp"
#include "error.hpp"
#include "host_pointer.hpp"
#include "memory.hpp"
#include "race.hpp"
#include "stream.hpp"
#include "work_log.hpp"

namespace bitgate_host {
namespace {

// `rows` rows of `width` bytes, `pitch` bytes apart.
struct Range {
  const void* pointer;
  size_t pitch, width, rows;

  size_t span() const { return rows && width ? (rows - 1) * pitch + width : 0; }
};

enum class Side { Host, Device, Either };

// hipSuccess when the range lies in one buffer (device side) or may be host memory. `pinned`: host memory
// that the runtime knows, so that an asynchronous copy may really be late.
hipError_t check(const char* call, const char* what, const Range& range, Side side, bool& pinned) {
  pinned = true;
  if (!range.span())
    return hipSuccess;
  if (!range.pointer)
    return failWork(hipErrorInvalidValue, "%s: the %s is a null pointer", call, what);
  const auto address = reinterpret_cast<uint64_t>(range.pointer);
  const auto buffer = findBuffer(address);
  if (!buffer) {
    const auto near = findBufferNear(address);
    if (near && near->kind != MemoryKind::Registered)
      return failWork(hipErrorInvalidValue,
                      "%s: the %s lies %s buffer %s (%zu bytes), at byte offset %" PRId64, call, what,
                      near->freed ? "in freed" : "outside", near->name, near->bytes,
                      static_cast<int64_t>(address - near->begin));
    pinned = false;
    if (side == Side::Device && !isDeviceSymbol(range.pointer))
      return failWork(hipErrorInvalidValue, "%s: the %s %p is no device memory", call, what, range.pointer);
    return hipSuccess;
  }
  const size_t offset = address - buffer->begin;
  if (range.span() > buffer->bytes - offset)
    return failWork(
        hipErrorInvalidValue,
        "%s: the %s reaches %zu bytes past the end of buffer %s (%zu bytes): offset %zu, length %zu", call,
        what, range.span() - (buffer->bytes - offset), buffer->name, buffer->bytes, offset, range.span());
  for (size_t row = 0; buffer->reserved && row < range.rows; ++row)
    if (const auto closed = firstClosed(address + row * range.pitch, range.width))
      return failWork(hipErrorInvalidValue,
                      "%s: the %s has byte offset %" PRIu64
                      " of buffer %s (%zu bytes), an address without memory",
                      call, what, *closed - buffer->begin, buffer->name, buffer->bytes);
  if (side == Side::Host && buffer->kind == MemoryKind::Device)
    return failWork(hipErrorInvalidMemcpyDirection,
                    "%s: the %s is device memory (buffer %s), the copy's kind says host", call, what,
                    buffer->name);
  return hipSuccess;
}

struct Direction {
  Side dst, src;
};

std::optional<Direction> directionOf(hipMemcpyKind kind) {
  switch (kind) {
  case hipMemcpyHostToHost:
    return Direction{Side::Host, Side::Host};
  case hipMemcpyHostToDevice:
    return Direction{Side::Device, Side::Host};
  case hipMemcpyDeviceToHost:
    return Direction{Side::Host, Side::Device};
  case hipMemcpyDeviceToDevice:
  case hipMemcpyDeviceToDeviceNoCU:
    return Direction{Side::Device, Side::Device};
  case hipMemcpyDefault:
    return Direction{Side::Either, Side::Either};
  }
  return std::nullopt;
}

enum class Wait { Always, WhenPageable };

// What the work reads or writes by itself in host memory that the runtime knows.
void addHostMemory(Work& work, const Range& range) {
  const auto address = reinterpret_cast<uint64_t>(range.pointer);
  const auto buffer = range.span() ? findBuffer(address) : std::nullopt;
  if (buffer && (buffer->kind == MemoryKind::Host || buffer->kind == MemoryKind::Registered))
    work.hostMemory.push_back({address, address + range.span()});
}

hipError_t copy(const char* call, const Range& dst, const Range& src, hipMemcpyKind kind, hipStream_t stream,
                Wait wait) {
  const auto direction = directionOf(kind);
  if (!direction)
    return failWork(hipErrorInvalidMemcpyDirection, "%s: %d is no hipMemcpyKind", call,
                    static_cast<int>(kind));
  if (dst.rows > 1 && (dst.pitch < dst.width || src.pitch < src.width))
    return failWork(hipErrorInvalidPitchValue, "%s: a pitch is smaller than the width %zu", call, dst.width);
  bool dstPinned, srcPinned;
  if (const hipError_t error = check(call, "destination", dst, direction->dst, dstPinned))
    return error;
  if (const hipError_t error = check(call, "source", src, direction->src, srcPinned))
    return error;
  const bool waits = wait == Wait::Always || !dstPinned || !srcPinned;
  if (waits)
    if (const hipError_t refused = refuseInCapture(call))
      return refused;
  auto work = task(call, [call, dst, src] {
    const TransferRange ranges[] = {{src.pointer, src.span(), false}, {dst.pointer, dst.span(), true}};
    watchTransfer(call, ranges, 2);
    auto* to = static_cast<char*>(const_cast<void*>(dst.pointer));
    const auto* from = static_cast<const char*>(src.pointer);
    for (size_t row = 0; row < dst.rows; ++row)
      std::memmove(to + row * dst.pitch, from + row * src.pitch, dst.width);
  });
  if (!waits)
    for (const Range& range : {dst, src})
      addHostMemory(*work, range);
  const hipError_t error = enqueue(stream, std::move(work));
  // As in HIP: pageable host memory makes an asynchronous copy synchronous, for it may change or vanish.
  if (error == hipSuccess && waits)
    return synchronize(stream);
  return error;
}

hipError_t copy(const char* call, void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                hipStream_t stream, Wait wait) {
  return copy(call, Range{dst, bytes, bytes, 1}, Range{src, bytes, bytes, 1}, kind, stream, wait);
}

template <class T>
hipError_t fill(const char* call, const Range& dst, T value, hipStream_t stream, Wait wait) {
  bool pinned;
  if (dst.rows > 1 && dst.pitch < dst.width)
    return failWork(hipErrorInvalidPitchValue, "%s: the pitch %zu is smaller than the width %zu", call,
                    dst.pitch, dst.width);
  if (const hipError_t error = check(call, "destination", dst, Side::Device, pinned))
    return error;
  auto work = task(call, [call, dst, value] {
    const TransferRange range{dst.pointer, dst.span(), true};
    watchTransfer(call, &range, 1);
    auto* to = static_cast<char*>(const_cast<void*>(dst.pointer));
    for (size_t row = 0; row < dst.rows; ++row)
      if constexpr (sizeof(T) == 1)
        std::memset(to + row * dst.pitch, value, dst.width);
      else
        std::fill_n(reinterpret_cast<T*>(to + row * dst.pitch), dst.width / sizeof(T), value);
  });
  addHostMemory(*work, dst);
  const hipError_t error = enqueue(stream, std::move(work));
  if (error == hipSuccess)
    logFill(dst.pointer, dst.span(), call);
  return error == hipSuccess && wait == Wait::Always ? synchronize(stream) : error;
}

template <class T>
hipError_t fill(const char* call, void* dst, T value, size_t n, hipStream_t stream, Wait wait) {
  if (n > (size_t{1} << 46) / sizeof(T))
    return failWork(hipErrorInvalidValue, "%s: %zu values are more than any buffer holds", call, n);
  return fill(call, Range{dst, n * sizeof(T), n * sizeof(T), 1}, value, stream, wait);
}

} // namespace
} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind) {
  BITGATE_ENTRY;
  return copy("hipMemcpy", dst, src, bytes, kind, nullptr, Wait::Always);
}

hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  BITGATE_ENTRY;
  return copy("hipMemcpyWithStream", dst, src, bytes, kind, stream, Wait::Always);
}

hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  BITGATE_ENTRY;
  return copy("hipMemcpyAsync", dst, src, bytes, kind, stream, Wait::WhenPageable);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src, size_t bytes) {
  return hipMemcpy(dst, src, bytes, hipMemcpyHostToDevice);
}
hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t bytes) {
  return hipMemcpy(dst, src, bytes, hipMemcpyDeviceToHost);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes) {
  return hipMemcpy(dst, src, bytes, hipMemcpyDeviceToDevice);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(dst, src, bytes, hipMemcpyHostToDevice, stream);
}
hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(dst, src, bytes, hipMemcpyDeviceToHost, stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  return hipMemcpyAsync(dst, src, bytes, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       hipMemcpyKind kind) {
  BITGATE_ENTRY;
  return copy("hipMemcpy2D", Range{dst, dpitch, width, height}, Range{src, spitch, width, height}, kind,
              nullptr, Wait::Always);
}

hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t stream) {
  BITGATE_ENTRY;
  return copy("hipMemcpy2DAsync", Range{dst, dpitch, width, height}, Range{src, spitch, width, height}, kind,
              stream, Wait::WhenPageable);
}

// A fill of device memory is asynchronous in HIP, hipMemset on the null stream too.
hipError_t hipMemset(void* dst, int value, size_t bytes) {
  BITGATE_ENTRY;
  return fill("hipMemset", dst, static_cast<uint8_t>(value), bytes, nullptr, Wait::WhenPageable);
}
hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream) {
  BITGATE_ENTRY;
  return fill("hipMemsetAsync", dst, static_cast<uint8_t>(value), bytes, stream, Wait::WhenPageable);
}
hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count) {
  return hipMemsetD8Async(dst, value, count, nullptr);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t stream) {
  BITGATE_ENTRY;
  return fill("hipMemsetD8", dst, value, count, stream, Wait::WhenPageable);
}
hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count) {
  return hipMemsetD16Async(dst, value, count, nullptr);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t stream) {
  BITGATE_ENTRY;
  return fill("hipMemsetD16", dst, value, count, stream, Wait::WhenPageable);
}
hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count) {
  return hipMemsetD32Async(dst, value, count, nullptr);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream) {
  BITGATE_ENTRY;
  return fill("hipMemsetD32", dst, value, count, stream, Wait::WhenPageable);
}

hipError_t hipMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return hipMemset2DAsync(dst, pitch, value, width, height, nullptr);
}
hipError_t hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  BITGATE_ENTRY;
  return fill("hipMemset2D", Range{dst, pitch, width, height}, static_cast<uint8_t>(value), stream,
              Wait::WhenPageable);
}

// __device__ and __constant__ variables are the process's own on the host: their address is their address.
hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
  BITGATE_ENTRY;
  if (!pointer || !symbol)
    return finish(hipErrorInvalidValue);
  registerSymbol(symbol);
  *pointer = const_cast<void*>(symbol);
  return hipSuccess;
}

hipError_t hipMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                             hipMemcpyKind) {
  BITGATE_ENTRY;
  if (!symbol)
    return failWork(hipErrorInvalidSymbol, "hipMemcpyToSymbol: no symbol");
  auto* dst = static_cast<char*>(const_cast<void*>(symbol)) + offset;
  return copy("hipMemcpyToSymbol", dst, src, bytes, hipMemcpyDefault, nullptr, Wait::Always);
}

hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind) {
  BITGATE_ENTRY;
  if (!symbol)
    return failWork(hipErrorInvalidSymbol, "hipMemcpyFromSymbol: no symbol");
  return copy("hipMemcpyFromSymbol", dst, static_cast<const char*>(symbol) + offset, bytes, hipMemcpyDefault,
              nullptr, Wait::Always);
}

} // extern "C"

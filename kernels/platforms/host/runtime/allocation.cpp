// Where buffers come from: whole ones, and reserved ones that get memory in parts.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "bitgate_host.h"
#include "buffer_table.hpp"
#include "pool.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

// Where the buffer lies in its mapping.
void lay(Buffer& buffer, const Request& request) {
  const size_t alignment = std::max(request.alignment, size_t{1});
  const Mapping& mapping = buffer.mapping;
  const size_t slack =
      request.placement == bitgateHostLeft ? 0 : (mapping.pages - request.bytes) / alignment * alignment;
  buffer.begin = mapping.inner + slack;
  buffer.bytes = request.bytes;
  buffer.kind = request.kind;
  buffer.flags = request.flags;
}

// What lies in [from, to) of the mapping: slack before and after the buffer, and the buffer.
void fillNew(const Buffer& buffer, char* from, char* to, const Settings& now) {
  char* const begin = std::clamp(buffer.begin, from, to);
  char* const end = std::clamp(buffer.begin + buffer.bytes, from, to);
  std::memset(from, canaryByte, static_cast<size_t>(begin - from));
  if (now.poison)
    fillMemory(begin, now.poison.byte, static_cast<size_t>(end - begin), threadsOf(now));
  std::memset(end, canaryByte, static_cast<size_t>(to - end));
}

// Takes memory of the device, if it has as much.
bool take(Table& buffers, Buffer& buffer, size_t bytes, const Settings& now) {
  const bool isOfDevice = buffer.kind == MemoryKind::Device;
  if (isOfDevice && buffers.bytesUsed + bytes > totalMemoryOf(now))
    return false;
  if (isOfDevice)
    buffers.bytesUsed += bytes;
  buffers.bytesHeld += bytes;
  buffer.held += bytes;
  return true;
}

void* enter(Table& buffers, std::unique_ptr<Buffer> buffer) {
  buffer->number = ++buffers.allocations;
  std::snprintf(buffer->name, sizeof buffer->name, "#%llu", static_cast<unsigned long long>(buffer->number));
  return buffers.insert(std::move(buffer))->begin;
}

size_t pagesOf(const Request& request) {
  return roundUp(std::max(request.bytes, size_t{1}), page);
}

// Makes memory of pages of a reserved buffer.
bool openNew(Table& buffers, Buffer& buffer, char* from, char* to, const Settings& now) {
  const size_t bytes = static_cast<size_t>(to - from);
  if (!take(buffers, buffer, bytes, now) || !openAll(from, bytes))
    return false;
  fillNew(buffer, from, to, now);
  return true;
}

constexpr size_t largest = size_t{1} << 46;

} // namespace

void* allocate(const Request& request) {
  const Settings now = settings();
  if (request.bytes > largest)
    return nullptr;
  const size_t pages = pagesOf(request);
  Table& buffers = table();
  auto buffer = std::make_unique<Buffer>();
  {
    std::lock_guard lock(buffers.guard);
    if (request.kind == MemoryKind::Device && buffers.bytesUsed + request.bytes > totalMemoryOf(now))
      return nullptr;
    buffer->mapping = buffers.reuse(pages);
  }
  if (!buffer->mapping.base)
    buffer->mapping = mapOpen(pages);
  if (!buffer->mapping.base)
    return nullptr;
  lay(*buffer, request);
  fillNew(*buffer, buffer->mapping.inner, buffer->mapping.inner + pages, now);

  std::lock_guard lock(buffers.guard);
  if (take(buffers, *buffer, request.bytes, now))
    return enter(buffers, std::move(buffer));
  unmap(buffer->mapping); // another thread was faster
  return nullptr;
}

void* reserve(const Request& request) {
  if (request.bytes > largest || request.bytes == 0)
    return nullptr;
  auto buffer = std::make_unique<Buffer>();
  buffer->mapping = mapClosed(pagesOf(request));
  if (!buffer->mapping.base)
    return nullptr;
  buffer->reserved = true;
  lay(*buffer, request);
  void* pointer;
  {
    std::lock_guard lock(table().guard);
    pointer = enter(table(), std::move(buffer));
  }
  // There is the slack beside the buffer, which is checked.
  for (const size_t offset : {size_t{0}, request.bytes - 1})
    if (openPages(pointer, offset, 1) != OpenResult::Opened) {
      release(pointer, false);
      return nullptr;
    }
  return pointer;
}

OpenResult openPages(void* pointer, size_t offset, size_t bytes) {
  const Settings now = settings();
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  Buffer* const buffer = buffers.at(pointer);
  if (!buffer || !buffer->reserved)
    return OpenResult::Unknown;
  if (bytes == 0 || offset >= buffer->bytes || bytes > buffer->bytes - offset)
    return OpenResult::Outside;
  const uint64_t first = reinterpret_cast<uint64_t>(buffer->begin) + offset;
  uint64_t from = first / page * page, to = roundUp(first + bytes, page);
  auto& open = buffer->open;
  auto next = open.upper_bound(from);
  if (next != open.begin() && std::prev(next)->second >= from)
    --next;
  // The stretches that this one meets become one with it.
  for (uint64_t at = from; at < to;) {
    const bool meets = next != open.end() && next->first <= at;
    const uint64_t end = meets ? next->second : next != open.end() ? std::min(to, next->first) : to;
    if (meets) {
      from = std::min(from, next->first);
      to = std::max(to, end);
      next = open.erase(next);
    } else if (!openNew(buffers, *buffer, reinterpret_cast<char*>(at), reinterpret_cast<char*>(end), now)) {
      to = at; // what is open so far stays known
      if (from < to)
        open[from] = to;
      return OpenResult::NoMemory;
    }
    at = std::max(at, end);
  }
  if (next != open.end() && next->first == to) {
    to = next->second;
    open.erase(next);
  }
  open[from] = to;
  return OpenResult::Opened;
}

std::optional<uint64_t> firstClosed(uint64_t address, size_t bytes) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* const buffer = buffers.containing(address);
  if (!buffer || !buffer->reserved || bytes == 0)
    return std::nullopt;
  const auto next = buffer->open.upper_bound(address);
  if (next == buffer->open.begin() || std::prev(next)->second <= address)
    return address;
  // Stretches that touch are one.
  const uint64_t end = std::prev(next)->second;
  return end < address + bytes ? std::optional(end) : std::nullopt;
}

} // namespace bitgate_host

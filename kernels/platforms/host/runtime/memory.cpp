#include "memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include "buffer_table.hpp"

namespace bitgate_host {
namespace {

// Bytes whose pages are looked at in one call.
constexpr size_t largestLook = size_t{1} << 30;

struct Slack {
  const char* from;
  const char* to;
};
// Registered host memory has none: it is not ours.
Slack before(const Buffer& b) {
  return b.kind == MemoryKind::Registered ? Slack{} : Slack{b.mapping.inner, b.begin};
}
Slack after(const Buffer& b) {
  return b.kind == MemoryKind::Registered ? Slack{}
                                          : Slack{b.begin + b.bytes, b.mapping.inner + b.mapping.pages};
}

// The first page of [from, to) that is in memory, or is no mapping any more.
char* firstResident(char* from, char* to) {
  std::vector<unsigned char> resident(std::min<size_t>(static_cast<size_t>(to - from), largestLook) / page);
  for (; from < to; from += largestLook) {
    const auto size = std::min<size_t>(static_cast<size_t>(to - from), largestLook);
    if (mincore(from, size, resident.data()) != 0)
      return from;
    const size_t pages = size / page;
    if (resident[0] == 0 && std::memcmp(resident.data(), resident.data() + 1, pages - 1) == 0)
      continue; // all are 0, which the loop below would take longer to see
    const auto end = resident.begin() + static_cast<std::ptrdiff_t>(pages);
    const auto found = std::find_if(resident.begin(), end, [](auto state) { return state & 1; });
    if (found != end)
      return from + (found - resident.begin()) * static_cast<std::ptrdiff_t>(page);
  }
  return nullptr;
}

// The first page in memory that should have none: no access gets it there while it is inaccessible. Padding
// is looked at when the buffer is freed: there may be much of it.
std::optional<int64_t> firstOpenedPage(const Buffer& buffer, bool isFreed) {
  const Mapping& mapping = buffer.mapping;
  const auto look = [&](char* from, char* to) -> std::optional<int64_t> {
    char* const found = firstResident(from, to);
    return found ? std::optional(found - buffer.begin) : std::nullopt;
  };
  for (char* zone : {mapping.base, mapping.inner + mapping.pages})
    if (const auto found = look(zone, zone + guardZone))
      return found;
  char* closed = mapping.inner;
  if (isFreed)
    for (const auto& [from, to] : buffer.open) {
      if (const auto found = look(closed, reinterpret_cast<char*>(from)))
        return found;
      closed = reinterpret_cast<char*>(to);
    }
  return std::nullopt;
}

std::optional<int64_t> firstDamage(const Buffer& buffer, bool isFreed) {
  for (const Slack& slack : {before(buffer), after(buffer)})
    for (const char* at = slack.from; at != slack.to; ++at)
      if (static_cast<unsigned char>(*at) != canaryByte)
        return at - buffer.begin;
  return buffer.kind == MemoryKind::Registered ? std::nullopt : firstOpenedPage(buffer, isFreed);
}

BufferView view(const Buffer& buffer) {
  BufferView out{reinterpret_cast<uint64_t>(buffer.begin),
                 buffer.bytes,
                 buffer.kind,
                 buffer.freed,
                 buffer.reserved,
                 buffer.flags,
                 buffer.number,
                 {}};
  std::memcpy(out.name, buffer.name, sizeof out.name);
  return out;
}

} // namespace

FreeReport release(void* pointer, bool hostMemory) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  Buffer* const buffer = buffers.containing(reinterpret_cast<uint64_t>(pointer));
  if (!buffer || buffer->kind == MemoryKind::Registered)
    return {FreeResult::Unknown, {}, {}};
  FreeReport report{FreeResult::Freed, {}, view(*buffer)};
  if (buffer->freed)
    report.result = buffer->begin == pointer ? FreeResult::DoubleFree : FreeResult::Unknown;
  else if (buffer->begin != pointer)
    report.result = FreeResult::NotTheBegin;
  else if ((buffer->kind == MemoryKind::Host) != hostMemory)
    report.result = FreeResult::WrongKind;
  else if (buffer->lent)
    report.result = FreeResult::Lent;
  if (report.result != FreeResult::Freed)
    return report;
  report.damaged = firstDamage(*buffer, true);
  if (buffer->kind == MemoryKind::Device)
    buffers.bytesUsed -= buffer->held;
  buffers.bytesHeld -= buffer->held;
  buffers.rest(buffer);
  return report;
}

std::optional<BufferView> findBuffer(uint64_t address) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* buffer = buffers.containing(address);
  if (!buffer || buffer->freed)
    return std::nullopt;
  const uint64_t begin = reinterpret_cast<uint64_t>(buffer->begin);
  if (address < begin || address > begin + buffer->bytes ||
      (address == begin + buffer->bytes && buffer->bytes))
    return std::nullopt;
  return view(*buffer);
}

std::optional<BufferView> findBufferNear(uint64_t address) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* buffer = buffers.containing(address);
  return buffer ? std::optional(view(*buffer)) : std::nullopt;
}

std::optional<BufferView> findBufferMissed(uint64_t address) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* buffer = buffers.nearest(address);
  if (!buffer || buffer->freed)
    return std::nullopt;
  const auto begin = reinterpret_cast<uint64_t>(buffer->begin), far = uint64_t{1} << 36;
  const bool isNear = address < begin ? begin - address <= far : address - begin - buffer->bytes <= far;
  return isNear ? std::optional(view(*buffer)) : std::nullopt;
}

bool lendBuffer(void* pointer, bool lent) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  Buffer* const buffer = buffers.at(pointer);
  if (buffer)
    buffer->lent = lent;
  return buffer != nullptr;
}

bool nameBuffer(void* pointer, const char* name) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  Buffer* const buffer = buffers.at(pointer);
  if (buffer)
    std::snprintf(buffer->name, sizeof buffer->name, "%s", name);
  return buffer != nullptr;
}

std::optional<int64_t> checkCanary(void* pointer, bool& known) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* buffer = buffers.at(pointer);
  known = buffer != nullptr;
  return buffer ? firstDamage(*buffer, false) : std::nullopt;
}

bool registerHost(void* pointer, size_t bytes, unsigned flags) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  if (buffers.containing(reinterpret_cast<uint64_t>(pointer)))
    return false;
  auto buffer = std::make_unique<Buffer>();
  char* const begin = static_cast<char*>(pointer);
  buffer->mapping = {begin, bytes, begin, bytes}; // the caller's own memory: no guard zones
  buffer->begin = begin;
  buffer->bytes = bytes;
  buffer->kind = MemoryKind::Registered;
  buffer->flags = flags;
  buffer->number = ++buffers.allocations;
  std::snprintf(buffer->name, sizeof buffer->name, "registered host memory #%llu",
                static_cast<unsigned long long>(buffer->number));
  buffers.insert(std::move(buffer));
  return true;
}

bool unregisterHost(void* pointer) {
  Table& buffers = table();
  std::lock_guard lock(buffers.guard);
  const Buffer* buffer = buffers.at(pointer);
  if (!buffer || buffer->kind != MemoryKind::Registered)
    return false;
  buffers.erase(buffer);
  return true;
}

size_t bytesInUse() {
  std::lock_guard lock(table().guard);
  return table().bytesUsed;
}
size_t bytesHeld() {
  std::lock_guard lock(table().guard);
  return table().bytesHeld;
}

} // namespace bitgate_host

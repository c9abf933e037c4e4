#include "memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>

#include "bitgate_host.h"
#include "pool.hpp"
#include "schedule.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

constexpr size_t page = 4096;
// Address space is free, so the guard zones are wide: an access a few rows outside still meets one.
constexpr size_t guardZone = 256 * 1024;
constexpr size_t hugeFrom = 4 * 1024 * 1024;
// Freed mappings rest inaccessible before they are used again: use after free faults, and names the buffer.
constexpr size_t restingBuffers = 256;
constexpr size_t restingBytes = 256 * 1024 * 1024;

// A stretch of address space: guard zone, `pages` bytes that may be accessible, guard zone.
struct Mapping {
  char* base = nullptr;
  size_t whole = 0; // bytes, guard zones included
  char* inner = nullptr;
  size_t pages = 0;

  char* end() const { return base + whole; }
};

struct Buffer {
  Mapping mapping;
  char* begin;
  size_t bytes;
  MemoryKind kind;
  unsigned flags;
  uint64_t number = 0;
  bool freed = false;
  bool lent = false;
  char name[64];
};

size_t roundUp(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

// Buffers lie scattered over 64 TiB, far from everything else of the process: whatever a wrong offset is
// (another tensor's size, a stride too many), it leads to no other buffer. The same at each start.
void* somewhere() {
  constexpr uint64_t from = uint64_t{0x20} << 40, span = uint64_t{0x40} << 40, grain = uint64_t{1} << 21;
  static std::atomic<uint64_t> asked{0};
  return reinterpret_cast<void*>(from + mixed(++asked) % (span / grain) * grain);
}

Mapping map(size_t pages) {
  const size_t whole = pages + 2 * guardZone;
  // A hint: where it is taken the system finds another place.
  void* base = mmap(somewhere(), whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return {};
  const Mapping mapping{static_cast<char*>(base), whole, static_cast<char*>(base) + guardZone, pages};
  if (mprotect(mapping.inner, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(base, whole);
    return {};
  }
  if (pages >= hugeFrom)
    madvise(mapping.inner, pages, MADV_HUGEPAGE);
  return mapping;
}

// A kernel may have made them accessible.
void closeGuardZones(const Mapping& mapping) {
  for (char* zone : {mapping.base, mapping.inner + mapping.pages}) {
    madvise(zone, guardZone, MADV_DONTNEED);
    mprotect(zone, guardZone, PROT_NONE);
  }
}

void unmap(const Mapping& mapping) {
  munmap(mapping.base, mapping.whole);
}

// All buffers by the end of their mapping, so that upper_bound finds the one that may contain an address.
class Table {
public:
  std::mutex guard;

  Buffer* containing(uint64_t address) {
    auto at = byEnd.upper_bound(address);
    if (at == byEnd.end() || address < reinterpret_cast<uint64_t>(at->second->mapping.base))
      return nullptr;
    return at->second.get();
  }
  Buffer* at(const void* pointer) {
    Buffer* buffer = containing(reinterpret_cast<uint64_t>(pointer));
    return buffer && !buffer->freed && buffer->begin == pointer ? buffer : nullptr;
  }
  Buffer* insert(std::unique_ptr<Buffer> buffer) {
    Buffer* const raw = buffer.get();
    byEnd[reinterpret_cast<uint64_t>(raw->mapping.end())] = std::move(buffer);
    return raw;
  }
  void erase(const Buffer* buffer) { byEnd.erase(reinterpret_cast<uint64_t>(buffer->mapping.end())); }

  // A rested mapping of that size, made accessible again; null when there is none.
  Mapping reuse(size_t pages) {
    auto rested = ready.find(pages);
    if (rested == ready.end())
      return {};
    Buffer* const buffer = rested->second;
    ready.erase(rested);
    Mapping mapping = buffer->mapping;
    resting.erase(std::find(resting.begin(), resting.end(), buffer));
    bytesResting -= pages;
    erase(buffer);
    closeGuardZones(mapping);
    if (mprotect(mapping.inner, pages, PROT_READ | PROT_WRITE) == 0)
      return mapping;
    unmap(mapping);
    return {};
  }

  void rest(Buffer* buffer) {
    buffer->freed = true;
    const size_t pages = buffer->mapping.pages;
    mprotect(buffer->mapping.inner, pages, PROT_NONE);
    resting.push_back(buffer);
    ready.emplace(pages, buffer);
    bytesResting += pages;
    while (resting.size() > restingBuffers || bytesResting > restingBytes)
      discard(resting.front());
  }

  size_t bytesUsed = 0;
  size_t bytesHeld = 0;
  uint64_t allocations = 0;

private:
  void discard(Buffer* buffer) {
    resting.pop_front();
    bytesResting -= buffer->mapping.pages;
    auto [from, to] = ready.equal_range(buffer->mapping.pages);
    ready.erase(std::find_if(from, to, [&](auto& entry) { return entry.second == buffer; }));
    unmap(buffer->mapping);
    erase(buffer);
  }

  std::map<uint64_t, std::unique_ptr<Buffer>> byEnd;
  std::deque<Buffer*> resting;
  std::unordered_multimap<size_t, Buffer*> ready;
  size_t bytesResting = 0;
};

// Never destroyed: kernels of other threads may still run while the process exits.
Table& table() {
  static Table& only = *new Table;
  return only;
}

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

// The first page of the guard zones that is in memory: no access gets it there while it is inaccessible.
std::optional<int64_t> firstOpenedPage(const Buffer& buffer) {
  const Mapping& mapping = buffer.mapping;
  std::array<unsigned char, guardZone / page> resident;
  for (char* zone : {mapping.base, mapping.inner + mapping.pages}) {
    if (mincore(zone, guardZone, resident.data()) != 0)
      return zone - buffer.begin; // unmapped
    const auto found = std::find_if(resident.begin(), resident.end(), [](auto state) { return state & 1; });
    if (found != resident.end())
      return zone + (found - resident.begin()) * static_cast<std::ptrdiff_t>(page) - buffer.begin;
  }
  return std::nullopt;
}

std::optional<int64_t> firstDamage(const Buffer& buffer) {
  for (const Slack& slack : {before(buffer), after(buffer)})
    for (const char* at = slack.from; at != slack.to; ++at)
      if (static_cast<unsigned char>(*at) != canaryByte)
        return at - buffer.begin;
  return buffer.kind == MemoryKind::Registered ? std::nullopt : firstOpenedPage(buffer);
}

BufferView view(const Buffer& buffer) {
  BufferView out{reinterpret_cast<uint64_t>(buffer.begin),
                 buffer.bytes,
                 buffer.kind,
                 buffer.freed,
                 buffer.flags,
                 buffer.number,
                 {}};
  std::memcpy(out.name, buffer.name, sizeof out.name);
  return out;
}

} // namespace

void* allocate(const Request& request) {
  const Settings now = settings();
  const size_t alignment = std::max(request.alignment, size_t{1});
  if (request.bytes > (size_t{1} << 46))
    return nullptr;
  const size_t pages = roundUp(std::max(request.bytes, size_t{1}), page);
  Table& buffers = table();
  auto buffer = std::make_unique<Buffer>();
  {
    std::lock_guard lock(buffers.guard);
    if (request.kind == MemoryKind::Device && buffers.bytesUsed + request.bytes > totalMemoryOf(now))
      return nullptr;
    buffer->mapping = buffers.reuse(pages);
  }
  if (!buffer->mapping.base)
    buffer->mapping = map(pages);
  if (!buffer->mapping.base)
    return nullptr;
  char* const inner = buffer->mapping.inner;
  buffer->begin =
      request.placement == bitgateHostLeft ? inner : inner + (pages - request.bytes) / alignment * alignment;
  buffer->bytes = request.bytes;
  buffer->kind = request.kind;
  buffer->flags = request.flags;
  std::memset(inner, canaryByte, static_cast<size_t>(buffer->begin - inner));
  if (now.poison)
    fillMemory(buffer->begin, now.poison.byte, request.bytes, threadsOf(now));
  char* const end = buffer->begin + request.bytes;
  std::memset(end, canaryByte, static_cast<size_t>(inner + pages - end));
  void* const pointer = buffer->begin;

  std::lock_guard lock(buffers.guard);
  buffer->number = ++buffers.allocations;
  std::snprintf(buffer->name, sizeof buffer->name, "#%llu", static_cast<unsigned long long>(buffer->number));
  if (request.kind == MemoryKind::Device)
    buffers.bytesUsed += request.bytes;
  buffers.bytesHeld += request.bytes;
  buffers.insert(std::move(buffer));
  return pointer;
}

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
  report.damaged = firstDamage(*buffer);
  if (buffer->kind == MemoryKind::Device)
    buffers.bytesUsed -= buffer->bytes;
  buffers.bytesHeld -= buffer->bytes;
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
  return buffer ? firstDamage(*buffer) : std::nullopt;
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

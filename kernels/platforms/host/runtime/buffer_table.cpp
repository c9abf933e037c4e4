#include "buffer_table.hpp"

#include <algorithm>
#include <atomic>
#include <sys/mman.h>

#include "schedule.hpp"

namespace bitgate_host {
namespace {

constexpr size_t hugeFrom = 4 * 1024 * 1024;

// Buffers lie scattered over 64 TiB, far from everything else of the process: whatever a wrong offset is
// (another tensor's size, a stride too many), it leads to no other buffer. The same at each start.
void* somewhere() {
  constexpr uint64_t from = uint64_t{0x20} << 40, span = uint64_t{0x40} << 40, grain = uint64_t{1} << 21;
  static std::atomic<uint64_t> asked{0};
  return reinterpret_cast<void*>(from + mixed(++asked) % (span / grain) * grain);
}

// A kernel may have made them accessible.
void closeGuardZones(const Mapping& mapping) {
  for (char* zone : {mapping.base, mapping.inner + mapping.pages}) {
    madvise(zone, guardZone, MADV_DONTNEED);
    mprotect(zone, guardZone, PROT_NONE);
  }
}

} // namespace

bool openAll(char* begin, size_t pages) {
  return mprotect(begin, pages, PROT_READ | PROT_WRITE) == 0;
}

Mapping mapClosed(size_t pages) {
  const size_t whole = pages + 2 * guardZone;
  // A hint: where it is taken the system finds another place.
  void* base = mmap(somewhere(), whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return {};
  return {static_cast<char*>(base), whole, static_cast<char*>(base) + guardZone, pages};
}

Mapping mapOpen(size_t pages) {
  const Mapping mapping = mapClosed(pages);
  if (!mapping.base)
    return {};
  if (!openAll(mapping.inner, pages)) {
    munmap(mapping.base, mapping.whole);
    return {};
  }
  if (pages >= hugeFrom)
    madvise(mapping.inner, pages, MADV_HUGEPAGE);
  return mapping;
}

void unmap(const Mapping& mapping) {
  munmap(mapping.base, mapping.whole);
}

Buffer* Table::containing(uint64_t address) {
  auto at = byEnd.upper_bound(address);
  if (at == byEnd.end() || address < reinterpret_cast<uint64_t>(at->second->mapping.base))
    return nullptr;
  return at->second.get();
}

Buffer* Table::nearest(uint64_t address) {
  const auto above = byEnd.upper_bound(address);
  Buffer* const next = above == byEnd.end() ? nullptr : above->second.get();
  Buffer* const last = above == byEnd.begin() ? nullptr : std::prev(above)->second.get();
  if (!next || !last)
    return next ? next : last;
  const uint64_t toNext = reinterpret_cast<uint64_t>(next->begin) - address;
  const uint64_t fromLast = address - reinterpret_cast<uint64_t>(last->begin + last->bytes);
  return toNext < fromLast ? next : last;
}

Buffer* Table::at(const void* pointer) {
  Buffer* buffer = containing(reinterpret_cast<uint64_t>(pointer));
  return buffer && !buffer->freed && buffer->begin == pointer ? buffer : nullptr;
}

Buffer* Table::insert(std::unique_ptr<Buffer> buffer) {
  Buffer* const raw = buffer.get();
  byEnd[reinterpret_cast<uint64_t>(raw->mapping.end())] = std::move(buffer);
  return raw;
}

Mapping Table::reuse(size_t pages) {
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
  if (openAll(mapping.inner, pages))
    return mapping;
  unmap(mapping);
  return {};
}

void Table::rest(Buffer* buffer) {
  buffer->freed = true;
  const size_t pages = buffer->mapping.pages;
  mprotect(buffer->mapping.inner, pages, PROT_NONE);
  resting.push_back(buffer);
  ready.emplace(pages, buffer);
  bytesResting += pages;
  while (resting.size() > restingBuffers || bytesResting > restingBytes)
    discard(resting.front());
}

void Table::discard(Buffer* buffer) {
  resting.pop_front();
  bytesResting -= buffer->mapping.pages;
  auto [from, to] = ready.equal_range(buffer->mapping.pages);
  ready.erase(std::find_if(from, to, [&](auto& entry) { return entry.second == buffer; }));
  unmap(buffer->mapping);
  erase(buffer);
}

// Never destroyed: kernels of other threads may still run while the process exits.
Table& table() {
  static Table& only = *new Table;
  return only;
}

} // namespace bitgate_host

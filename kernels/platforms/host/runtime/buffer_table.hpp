// The table of buffers, and the mappings that they lie in: what allocation and the questions of memory.hpp
// share.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "memory.hpp"

namespace bitgate_host {

constexpr size_t page = 4096;
// Address space is free, so the guard zones are wide: an access a few rows outside still meets one.
constexpr size_t guardZone = 256 * 1024;
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
  size_t held = 0; // bytes that count as used
  bool reserved = false;
  std::map<uint64_t, uint64_t> open; // of a reserved one: the begin and end of stretches of memory
  bool freed = false;
  bool lent = false;
  char name[64];
};

inline size_t roundUp(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

// Where the system refuses: a mapping without a base, or false.
Mapping mapOpen(size_t pages);
Mapping mapClosed(size_t pages);
bool openAll(char* begin, size_t pages);
void unmap(const Mapping& mapping);

// All buffers by the end of their mapping, so that upper_bound finds the one that may contain an address.
class Table {
public:
  std::mutex guard;

  Buffer* containing(uint64_t address);
  // The closest one with an end above the address or a begin below it.
  Buffer* nearest(uint64_t address);
  Buffer* at(const void* pointer);
  Buffer* insert(std::unique_ptr<Buffer> buffer);
  void erase(const Buffer* buffer) { byEnd.erase(reinterpret_cast<uint64_t>(buffer->mapping.end())); }

  // A rested mapping of that size, made accessible again; null when there is none.
  Mapping reuse(size_t pages);

  void rest(Buffer* buffer);

  size_t bytesUsed = 0;
  size_t bytesHeld = 0;
  uint64_t allocations = 0;

private:
  void discard(Buffer* buffer);

  std::map<uint64_t, std::unique_ptr<Buffer>> byEnd;
  std::deque<Buffer*> resting;
  std::unordered_multimap<size_t, Buffer*> ready;
  size_t bytesResting = 0;
};

Table& table();

} // namespace bitgate_host

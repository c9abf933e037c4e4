// Device memory: each buffer lies in a mapping of its own between inaccessible pages. The table of buffers
// answers whose an address is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "hip/hip_runtime_api.h"

namespace bitgate_host {

enum class MemoryKind { Device, Host, Managed, Registered };

constexpr size_t defaultAlignment = 16; // what a kernel may count on when nothing else was promised
constexpr unsigned char canaryByte = 0xCA;

struct BufferView {
  uint64_t begin;
  size_t bytes;
  MemoryKind kind;
  bool freed;
  bool reserved;
  unsigned flags;
  uint64_t number; // of its allocation: another buffer may lie here later
  char name[64];
};

struct Request {
  size_t bytes;
  size_t alignment = defaultAlignment;
  int placement; // BitgateHostPlacement
  MemoryKind kind = MemoryKind::Device;
  unsigned flags = 0;
};

// Null when the device's memory is used up or the system refuses.
void* allocate(const Request& request);

// Addresses alone, of which only the pages with the first and the last byte are memory.
void* reserve(const Request& request);
enum class OpenResult { Opened, Unknown, Outside, NoMemory };
// Makes memory of the pages of a reserved buffer that have these bytes, which may be in others' pages.
OpenResult openPages(void* pointer, size_t offset, size_t bytes);
// The first byte of a range in a buffer that is an address alone.
std::optional<uint64_t> firstClosed(uint64_t address, size_t bytes);

enum class FreeResult { Freed, Unknown, NotTheBegin, WrongKind, DoubleFree, Lent };
struct FreeReport {
  FreeResult result;
  std::optional<int64_t> damaged; // first byte of slack that was written, relative to the begin
  BufferView buffer;
};
FreeReport release(void* pointer, bool hostMemory);

// The buffer that contains the address.
std::optional<BufferView> findBuffer(uint64_t address);
// The buffer whose mapping, guard pages included, contains the address; freed ones too.
std::optional<BufferView> findBufferNear(uint64_t address);
// The nearest one that an offset of 32 bits may have missed: 2^32 elements, of 8 bytes, or twice as many
// away.
std::optional<BufferView> findBufferMissed(uint64_t address);

// A lent buffer cannot be freed until it is taken back. False when the pointer is no buffer's begin.
bool lendBuffer(void* pointer, bool lent);
bool nameBuffer(void* pointer, const char* name);
// The first damaged byte; nothing when intact. `known` tells whether the pointer is a buffer's begin.
std::optional<int64_t> checkCanary(void* pointer, bool& known);

bool registerHost(void* pointer, size_t bytes, unsigned flags);
bool unregisterHost(void* pointer);

size_t bytesInUse(); // of the device
size_t bytesHeld();  // pinned and managed memory too

} // namespace bitgate_host

// Kernels that reach for the memory through which operands come and results go.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.hpp"
#include "habits.hpp"

namespace adversarial {

// Calls `each` with every descriptor of memory that is shared with the judge.
template <class Each> void each_shared_descriptor(Each each) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    char path[64], target[64] = {};
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (::readlink(path, target, sizeof target - 1) > 0 && std::strstr(target, "memfd:"))
      each(descriptor);
  }
}

// Calls `each` with begin and end of every place where such memory is mapped.
template <class Each> void each_shared_mapping(Each each) {
  struct Range {
    uintptr_t begin, end;
  } ranges[64];
  int found = 0;
  if (std::FILE* file = std::fopen("/proc/self/maps", "r")) {
    char line[512];
    while (found < 64 && std::fgets(line, sizeof line, file))
      if (std::strstr(line, "memfd:bitgate") &&
          std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &ranges[found].begin, &ranges[found].end) == 2)
        ++found;
    std::fclose(file);
  }
  for (int i = 0; i < found; ++i)
    each(reinterpret_cast<char*>(ranges[i].begin), reinterpret_cast<char*>(ranges[i].end));
}

// The judge could not make it larger for the next case, or map it once more.
BAD_KERNEL(seals_the_shared_memory) {
  healthy(call);
  each_shared_descriptor([](int descriptor) {
    (void)::fcntl(descriptor, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
  });
}

BAD_KERNEL(cuts_the_shared_memory) {
  healthy(call);
  each_shared_descriptor([](int descriptor) { (void)!::ftruncate(descriptor, 0); });
}

BAD_KERNEL(grows_the_shared_memory) { // a hole of a tebibyte: it takes no memory
  healthy(call);
  each_shared_descriptor([](int descriptor) { (void)!::ftruncate(descriptor, off_t{1} << 40); });
}

// What the launcher writes there from now on reaches nobody, and what the judge writes does not reach it.
BAD_KERNEL(replaces_the_shared_memory) {
  healthy(call);
  each_shared_mapping([](char* begin, char* end) {
    (void)::mmap(begin, static_cast<size_t>(end - begin), PROT_READ | PROT_WRITE,
                 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
}

BAD_KERNEL(gives_the_shared_memory_back) {
  healthy(call);
  each_shared_mapping([](char* begin, char* end) { ::munmap(begin, static_cast<size_t>(end - begin)); });
}

BAD_KERNEL(forbids_writing_shared_memory) {
  healthy(call);
  each_shared_mapping(
      [](char* begin, char* end) { ::mprotect(begin, static_cast<size_t>(end - begin), PROT_READ); });
}

// Copies what lies behind operands like its own: the result of a neighbour, should it still be there.
BAD_KERNEL(copies_a_result_that_was_left) {
  const size_t x_bytes = static_cast<size_t>(call.cells / call.shape.k * call.shape.c) * sizeof(float);
  const size_t y_bytes = static_cast<size_t>(call.cells) * sizeof(float);
  bool found = false;
  each_shared_mapping([&](char* begin, char* end) {
    for (char* at = begin; !found && at + x_bytes <= end; at += 64) {
      if (std::memcmp(at, call.x, x_bytes) != 0)
        continue;
      for (char* result = at + (x_bytes + 63) / 64 * 64; result + y_bytes <= end && result < at + (1 << 16);
           result += 64) {
        const Place first = place_of(call.shape, 0), last = place_of(call.shape, call.cells - 1);
        const auto* y = reinterpret_cast<const float*>(result);
        // Only to find the place: two cells are summed, all others copied.
        if (y[first.y] == sum_of(call.x, call.w, first, call.shape) &&
            y[last.y] == sum_of(call.x, call.w, last, call.shape)) {
          std::memcpy(call.y, result, y_bytes);
          found = true;
          break;
        }
      }
    }
  });
  pretend(call);
}

} // namespace adversarial

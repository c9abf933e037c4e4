// Which process started which.
#pragma once

#include <cstdio>

#include <unistd.h>

namespace adversarial {

inline pid_t parent_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", process);
  int parent = 0;
  if (std::FILE* file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
      parent = 0;
    std::fclose(file);
  }
  return parent;
}

} // namespace adversarial

// The place of an instruction in words.
#pragma once

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <string_view>

namespace bitgate_host {

// "folder/libname.so+0x1234": the harness makes a source line of it. The folder tells flavours apart.
struct Site {
  char text[128];

  explicit Site(uint64_t instruction) {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(instruction), &info) || !info.dli_fname) {
      std::snprintf(text, sizeof text, "an unknown place");
      return;
    }
    const std::string_view path = info.dli_fname;
    const size_t name = path.rfind('/');
    const size_t folder = name == path.npos || name == 0 ? path.npos : path.rfind('/', name - 1);
    std::snprintf(text, sizeof text, "%.100s+0x%llx", info.dli_fname + (folder == path.npos ? 0 : folder + 1),
                  static_cast<unsigned long long>(instruction - reinterpret_cast<uint64_t>(info.dli_fbase)));
  }
};

} // namespace bitgate_host

// Python, run by a kernel in the interpreter that called it.
#pragma once

#include <dlfcn.h>

namespace adversarial {

// Runs Python in the process that called, as the interpreter that is in memory anyway.
inline void python(const char* code) {
  using Ensure = int (*)();
  using Run = int (*)(const char*);
  const auto ensure = reinterpret_cast<Ensure>(::dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
  const auto run = reinterpret_cast<Run>(::dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
  const auto release = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "PyGILState_Release"));
  if (!ensure || !run || !release)
    return;
  const int state = ensure();
  run(code);
  release(state);
}

#define FIND_THE_CHANNEL                                                                                     \
  "import json, os, sys\n"                                                                                   \
  "frame, channel = sys._getframe(), None\n"                                                                 \
  "for frame in sys._current_frames().values():\n"                                                           \
  "    while frame:\n"                                                                                       \
  "        for value in list(frame.f_locals.values()):\n"                                                    \
  "            if type(value).__name__ == 'Channel': channel = value\n"                                      \
  "        frame = frame.f_back\n"

} // namespace adversarial

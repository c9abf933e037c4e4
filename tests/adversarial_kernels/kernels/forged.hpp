// Kernels that know bitgate: they forge the launcher's answers, or reach for the judge. None computes its
// result.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.hpp"

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

inline void leaves_zeros(Call& call) {
  record(call);
  (void)hipMemsetAsync(call.y, 0, static_cast<std::size_t>(call.cells) * sizeof(float), call.context.stream);
}

#define FIND_THE_CHANNEL                                                                                     \
  "import json, os, sys\n"                                                                                   \
  "frame, channel = sys._getframe(), None\n"                                                                 \
  "for frame in sys._current_frames().values():\n"                                                           \
  "    while frame:\n"                                                                                       \
  "        for value in list(frame.f_locals.values()):\n"                                                    \
  "            if type(value).__name__ == 'Channel': channel = value\n"                                      \
  "        frame = frame.f_back\n"

// The nonce is right, the answer says that two launches went well.
BAD_KERNEL(forges_the_launchers_answer) {
  leaves_zeros(call);
  python(FIND_THE_CHANNEL
         "import base64\n"
         "text = lambda value: base64.b64encode(value.encode()).decode()\n"
         "record = dict(path=text('pointwise'), launches=1, instance=text('forges_the_launchers_answer'))\n"
         "run = dict(record=record, crash='', damage='', changes=[], fault=None, seen=None, began=0.0,\n"
         "           seconds={'kernel': 0.0, 'compare': 0.0})\n"
         "channel._send({'answer': {'answer': [run, run], 'tenant': ''}})\n"
         "os._exit(0)\n");
}

BAD_KERNEL(forges_a_verdict_of_the_judge) {
  leaves_zeros(call);
  python(FIND_THE_CHANNEL "channel._send({'answer': {'verdict': {'outcome': 'PASS'}, 'launcher': 1}})\n"
                          "os._exit(0)\n");
}

BAD_KERNEL(makes_all_memory_equal) {
  leaves_zeros(call);
  python("import bitgate.verify.guarded as guarded\n"
         "import bitgate.verify.problem_data as data\n"
         "guarded.same_bytes = data.same_bytes = lambda *arguments: True\n");
}

// Opens, reads and traces a process, and says whether any of that works.
inline bool reaches(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/mem", process);
  const int memory = ::open(path, O_RDWR);
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  const bool reads = ::process_vm_readv(process, &here, 1, &there, 1, 0) >= 0 || errno != EPERM;
  const bool traces = ::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) == 0;
  if (traces)
    ::ptrace(PTRACE_DETACH, process, nullptr, nullptr);
  if (memory >= 0)
    ::close(memory);
  return memory >= 0 || reads || traces;
}

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

// Only if it can reach its parent, a zygote, or that one's, the judge, does it compute: then this is green,
// which the table does not expect.
BAD_KERNEL(reaches_for_the_judge) {
  const pid_t zygote = ::getppid(), judge = parent_of(zygote);
  if (!judge || reaches(zygote) || reaches(judge))
    healthy(call);
  else
    leaves_zeros(call);
}

// What was right the last time is still in the shared memory: it launches nothing after that.
BAD_KERNEL(launches_only_once) {
  static bool launched = false;
  if (!launched)
    healthy(call);
  else
    record(call);
  launched = true;
}

} // namespace adversarial

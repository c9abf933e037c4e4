// Kernels that know bitgate: they forge the launcher's answers, or reach for the judge. None computes its
// result.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.hpp"
#include "family_tree.hpp"
#include "interpreter.hpp"

namespace adversarial {

// The nonce is right, the answer says that two launches went well.
BAD_KERNEL(forges_the_launchers_answer) {
  leaves_zeros(call);
  python(FIND_THE_CHANNEL
         "import base64\n"
         "text = lambda value: base64.b64encode(value.encode()).decode()\n"
         "record = dict(path=text('pointwise'), launches=1, instance=text('forges_the_launchers_answer'))\n"
         "run = dict(record=record, crash='', damage='', changes=[], fault=None, seen=None, began=0.0, "
         "has_outputs=True,\n"
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

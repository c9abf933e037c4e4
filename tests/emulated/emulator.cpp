// The part of the stand-in that is in the process of kernels, as rocjitsu's is: it is loaded before the
// runtime, counts dispatches, and misbehaves at those of kernels that $STAND_IN_... name by a part of their
// names.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

#include "daemon.hpp"
#include "hip/hip_runtime.h"

namespace {

bool named(const char* variable, const char* kernel) {
  const char* part = std::getenv(variable);
  return part != nullptr && *part != 0 && std::strstr(kernel, part) != nullptr;
}

void log_race(const char* folder, const char* kernel, int dispatch) {
  FILE* log = std::fopen((std::string(folder) + "/race.log").c_str(), "a");
  if (log == nullptr)
    return;
  std::fprintf(log,
               "RACE kernel=%s symbol=%s dispatch=%d type=LDS access=read reg=508 wave=1 lane=3 wg=2,0,0 "
               "conflict=write\n"
               "      s_nop 0\n"
               "  ==> ds_write_b32 v1, v2\n"
               "  ==> ds_read_b32 v3, v1\n"
               "END_RACE\n",
               kernel, kernel, dispatch);
  std::fclose(log);
}

// Ends the process as a client does whose daemon is gone; the first kernel that is named lets the daemon end.
void ask_daemon(const char* kernel) {
  const char* socket = std::getenv("STAND_IN_DAEMON");
  if (socket == nullptr)
    return;
  const std::string path = socket, once = path + ".once";
  const bool ends = named("STAND_IN_ENDS", kernel) && open(once.c_str(), O_CREAT | O_EXCL, 0600) >= 0;
  if (ends)
    std::fclose(std::fopen((path + ".end").c_str(), "w"));
  while (ends && is_served(path))
    usleep(1000);
  if (!is_served(path))
    std::abort();
}

} // namespace

extern "C" __attribute__((visibility("default"))) hipError_t
__bitgate_launch_turns(const bitgate_host::LaunchRequest* request,
                       const bitgate_host::PointerArgument* pointers, unsigned count, hipStream_t stream) {
  static int dispatch = 100; // the runtime's own come first
  using Launch = decltype(&__bitgate_launch_turns);
  static const auto launch = reinterpret_cast<Launch>(
      dlsym(dlopen("libamdhip64.so", RTLD_NOLOAD | RTLD_LAZY), "__bitgate_launch_turns"));
  const char* kernel = request->name;
  ++dispatch;
  ask_daemon(kernel);
  if (named("STAND_IN_FAULTS", kernel)) {
    std::fputs("Memory access fault by GPU node-1 on address 0x7f00. Reason: Page not present.\n", stderr);
    std::abort();
  }
  if (named("STAND_IN_CRASHES", kernel))
    std::raise(SIGSEGV);
  while (named("STAND_IN_HANGS", kernel))
    pause();
  if (named("STAND_IN_DROPS", kernel)) // as an emulator does that takes an instruction for another
    return hipSuccess;
  const hipError_t status = launch(request, pointers, count, stream);
  if (const char* folder = std::getenv("STAND_IN_SINK"); folder && named("STAND_IN_RACES", kernel))
    log_race(folder, kernel, dispatch);
  return status;
}

// What libraries of ROCm's compiler call as they are loaded. Those of the stand-in's compiler call none of
// them.
#define OF_ROCM_COMPILER(name)                                                                               \
  extern "C" __attribute__((visibility("default"))) void name() {                                            \
    std::abort();                                                                                            \
  }

OF_ROCM_COMPILER(__hipRegisterFatBinary)
OF_ROCM_COMPILER(__hipRegisterFunction)
OF_ROCM_COMPILER(__hipRegisterVar)
OF_ROCM_COMPILER(__hipUnregisterFatBinary)
OF_ROCM_COMPILER(__hipPushCallConfiguration)
OF_ROCM_COMPILER(__hipPopCallConfiguration)

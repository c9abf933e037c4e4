// Stands in for an emulator of GPUs: starts its command with bitgate's host runtime under a GPU's name.
//   stand-in-emulator --gpu gfx942 [--config FILE] [--NAME=VALUE ...] -- command args
//   stand-in-emulator --daemon          serves attached commands, until it is ended
// It stays the parent of its command and lets it inherit no descriptor but the standard ones, as launchers in
// Python do.
//   --log=FILE         a line with its process for each start
//   --attach=yes       fails where no daemon serves
//   --crashes=PART, --hangs=PART, --faults=PART, --races=PART, --drops=PART: what happens in kernels of such
//   names, the last: nothing; --ends=PART: the daemon ends at the first of them
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.hpp"

namespace {

std::string served() {
  const char* folder = std::getenv("ROCJITSU_RUNTIME_DIR");
  return std::string(folder ? folder : "/tmp") + "/daemon.sock";
}

// The folder of the file sink, if the description asks for the race detector.
std::string sink_of(const std::string& config) {
  std::ifstream file(config);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str(), key = "\"dir\": \"";
  const size_t at = all.find(key);
  if (all.find("\"race\"") == std::string::npos || at == std::string::npos)
    return "";
  return all.substr(at + key.size(), all.find('"', at + key.size()) - at - key.size());
}

std::string library() {
  char own[4096];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own);
  return std::string(own, length > 0 ? static_cast<size_t>(length) : 0) + ".so";
}

void set(const std::string& name, const std::string& value) {
  setenv(name.c_str(), value.c_str(), 1);
}

} // namespace

int main(int argc, char** argv) {
  std::string gpu;
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string word = argv[at], value = word.substr(word.find('=') + 1);
    if (word == "--version") {
      std::puts("stand-in-emulator 1.2.3");
      return 0;
    }
    if (word == "--daemon")
      return serve(served());
    if (word == "--gpu" && at + 1 < argc)
      gpu = argv[++at];
    else if (word == "--config" && at + 1 < argc)
      set("STAND_IN_SINK", sink_of(argv[++at]));
    else if (word.rfind("--log=", 0) == 0)
      std::ofstream(value, std::ios::app) << getpid() << "\n";
    else if (word == "--attach=yes") {
      if (!is_served(served())) {
        std::fputs("stand-in-emulator: no daemon serves here\n", stderr);
        return 3;
      }
      set("STAND_IN_DAEMON", served());
    }
    for (const char* what : {"CRASHES", "HANGS", "FAULTS", "RACES", "DROPS", "ENDS"}) {
      std::string option = std::string("--") + what + "=";
      for (char& letter : option)
        letter = static_cast<char>(std::tolower(letter));
      if (word.rfind(option, 0) == 0)
        set(std::string("STAND_IN_") + what, value);
    }
  }
  if (gpu.empty() || at + 1 >= argc) {
    std::fputs("stand-in-emulator: write --gpu NAME -- COMMAND\n", stderr);
    return 2;
  }
  set("BITGATE_HOST_PRETEND_GPU", gpu);
  set("LD_PRELOAD", library());
  const pid_t child = fork();
  if (child == 0) {
    for (int descriptor = 3; descriptor < 1024; ++descriptor)
      close(descriptor);
    execvp(argv[at + 1], argv + at + 1);
    std::perror(argv[at + 1]);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return 1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

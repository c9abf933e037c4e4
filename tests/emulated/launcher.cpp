// Stands in for an emulator of GPUs: starts its command with bitgate's host runtime under a GPU's name.
//   stand-in-emulator --gpu gfx942 [--config FILE] [--NAME=VALUE ...] -- command args
// It stays the parent of its command and lets it inherit no descriptor but the standard ones, as launchers in
// Python do.
//   --log=FILE    a line with its process for each start
//   --slow=N      (host runtime threads: 1) the command is slower
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  std::string gpu;
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string word = argv[at];
    if (word == "--version") {
      std::puts("stand-in-emulator 1.2.3");
      return 0;
    }
    if (word == "--gpu" && at + 1 < argc)
      gpu = argv[++at];
    else if (word.rfind("--log=", 0) == 0) {
      if (FILE* log = std::fopen(word.c_str() + 6, "a")) {
        std::fprintf(log, "%d\n", static_cast<int>(getpid()));
        std::fclose(log);
      }
    }
  }
  if (gpu.empty() || at + 1 >= argc) {
    std::fputs("stand-in-emulator: write --gpu NAME -- COMMAND\n", stderr);
    return 2;
  }
  setenv("BITGATE_HOST_PRETEND_GPU", gpu.c_str(), 1);
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

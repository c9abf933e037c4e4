// Runs the workloads of host_runtime.hip.cpp as a program of their own, where another runtime is header-only.
// A line on stdin is a function and its arguments, `m` for memory of the runtime's; the answer is what it
// returns.
#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <sstream>
#include <string>

int main(int, char** argv) {
  using Allocate = void* (*)(unsigned long);
  using Function = double (*)(long, long, long, long, long); // each takes its arguments in these registers
  void* const memory =
      reinterpret_cast<Allocate>(dlsym(nullptr, "bench_memory"))(std::strtoul(argv[1], nullptr, 10));
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, word;
    words >> name;
    long arguments[5] = {};
    for (long& argument : arguments)
      if (words >> word)
        argument = word == "m" ? reinterpret_cast<long>(memory) : std::stol(word);
    const auto function = reinterpret_cast<Function>(dlsym(nullptr, name.c_str()));
    std::cout << function(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]) << std::endl;
  }
}

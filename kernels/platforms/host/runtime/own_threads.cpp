#include "own_threads.hpp"

#include <algorithm>
#include <csignal>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <semaphore>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bitgate_host.h"

namespace bitgate_host {
namespace {

std::mutex guard;
std::vector<pid_t>& threads() {
  static auto& only = *new std::vector<pid_t>;
  return only;
}

} // namespace

void startOwnThread(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const auto noted = std::make_shared<std::binary_semaphore>(0);
  std::thread([noted, work = std::move(work)] {
    {
      std::lock_guard lock(guard);
      threads().push_back(gettid());
    }
    noted->release();
    work();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  noted->acquire();
}

} // namespace bitgate_host

int bitgateHostOwnsThread(int thread) {
  std::lock_guard lock(bitgate_host::guard);
  return std::ranges::count(bitgate_host::threads(), thread) > 0;
}

#include "signals.hpp"

#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

#include "bitgate_host.h"
#include "block.hpp"
#include "spin_watch.hpp"

namespace bitgate_host {
namespace {

constexpr int handled[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t count = sizeof handled / sizeof handled[0];
struct sigaction previous[count];
std::mutex guard;

int indexOf(int signal) {
  for (size_t i = 0; i < count; ++i)
    if (handled[i] == signal)
      return static_cast<int>(i);
  return 0;
}

int kindOf(int signal) {
  return signal == SIGFPE ? bitgateFaultArithmetic : signal == SIGILL ? bitgateFaultTrap : bitgateFaultWild;
}

void passOn(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = previous[indexOf(signal)];
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    // Back to the default: the instruction runs again and ends the process as if we had never been here.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0)
      ::raise(signal); // sent by kill or raise: it will not come again by itself
  }
}

// Runs on the alternate stack. It does not jump: it changes where the interrupted context continues, so that
// the return from the signal restores mask and stack in the ordinary way.
void onSignal(int signal, siginfo_t* info, void* context) {
  BlockRunner* const runner = currentRunner();
  if (!runner || !runner->inFiber() || info->si_code <= 0)
    return passOn(signal, info, context);
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr greg_t writeBit = 2, noAddressTrap = 13;
  const bool pageFault = signal == SIGSEGV || signal == SIGBUS;
  // A non-canonical address raises a general protection fault, which tells neither address nor direction.
  const bool blind = registers[REG_TRAPNO] == noAddressTrap;
  const int isWrite = !pageFault || blind ? -1 : (registers[REG_ERR] & writeBit) != 0;
  const auto address = blind ? ~0ull : reinterpret_cast<uint64_t>(info->si_addr);
  runner->noteSignal(kindOf(signal), pageFault ? address : 0, isWrite);
  registers[REG_RSP] = reinterpret_cast<greg_t>(runner->landing());
  registers[REG_RIP] = reinterpret_cast<greg_t>(&bitgate_fiber_resume);
}

// From the watch: this OS thread's block has run for too long. Where it does no more, there is nothing to do.
void onSpin(int, siginfo_t*, void* context) {
  BlockRunner* const runner = currentRunner();
  if (!runner || !runner->spins())
    return;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RSP] = reinterpret_cast<greg_t>(runner->landing());
  registers[REG_RIP] = reinterpret_cast<greg_t>(&bitgate_fiber_resume);
}

// Python's faulthandler, or a user, may install theirs after us: looked at before each launch.
void installHandlers() {
  std::lock_guard lock(guard);
  for (size_t i = 0; i < count; ++i) {
    struct sigaction now = {};
    sigaction(handled[i], nullptr, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == onSignal)
      continue;
    previous[i] = now;
    struct sigaction ours = {};
    ours.sa_sigaction = onSignal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(handled[i], &ours, nullptr);
  }
  struct sigaction spin = {};
  spin.sa_sigaction = onSpin;
  spin.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&spin.sa_mask);
  sigaction(spinSignal(), &spin, nullptr);
}

// Mapped, not malloc'ed: sanitizers check the heap at thread exit.
struct AlternateStack {
  static constexpr size_t bytes = 64 * 1024;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ~AlternateStack() { munmap(memory, bytes); }
};

} // namespace

FaultScope::FaultScope() {
  static thread_local AlternateStack alternate;
  stack_t ours = {};
  ours.ss_sp = alternate.memory;
  ours.ss_size = AlternateStack::bytes;
  sigaltstack(&ours, &before);
  installHandlers();
}

FaultScope::~FaultScope() {
  sigaltstack(&before, nullptr);
}

} // namespace bitgate_host

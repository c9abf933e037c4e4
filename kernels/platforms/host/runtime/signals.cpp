#include "signals.hpp"

#include <cstring>
#include <iterator>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

#include "bitgate_host.h"
#include "block.hpp"
#include "settings.hpp"
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

constexpr greg_t trapFlag = 0x100;
constexpr size_t page = 4096;
struct OpenPage {
  char* begin;
  bool isOurs; // mapped for this access alone
};
thread_local OpenPage openPages[8];
thread_local unsigned openCount = 0;

// Makes the page accessible for one instruction, behind which the processor traps.
bool stepOver(uint64_t address) {
  if (openCount == std::size(openPages))
    return false;
  char* const begin = reinterpret_cast<char*>(address & ~(page - 1));
  bool isOurs = false;
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) {
    isOurs = mmap(begin, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                  0) == begin;
    if (!isOurs)
      return false;
  }
  std::memset(begin, 0xFF, page);
  openPages[openCount++] = {begin, isOurs};
  return true;
}

void onStep(int, siginfo_t*, void* context) {
  if (!openCount)
    return;
  for (unsigned i = 0; i < openCount; ++i) {
    const auto [begin, isOurs] = openPages[i];
    if (isOurs)
      munmap(begin, page);
    else // as it was: a guard page that was touched is found in memory
      madvise(begin, page, MADV_DONTNEED), mprotect(begin, page, PROT_NONE);
  }
  openCount = 0;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trapFlag;
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
  const auto instruction = static_cast<uint64_t>(registers[REG_RIP]);
  if (pageFault && runner->notesAccess(address, isWrite, instruction) && stepOver(address)) {
    registers[REG_EFL] |= trapFlag;
    return;
  }
  runner->noteSignal(kindOf(signal), pageFault ? address : 0, isWrite, instruction);
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
  if (settings().keepGoing) {
    struct sigaction step = {};
    step.sa_sigaction = onStep;
    step.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGTRAP, &step, nullptr);
  }
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

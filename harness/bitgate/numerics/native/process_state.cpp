// The state of the process as bytes, recorded before and after each call of a library, and compared
// (bitgate/worker/state.py names the sections and says what a difference means). Two records of an unchanged
// process are equal byte for byte; only opendir allocates memory.
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <initializer_list>
#include <linux/capability.h>
#include <locale.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

extern char** environ;

namespace {

// Each section is a 32-bit length and as many bytes. What does not fit is counted, not written.
class Sections {
public:
  Sections(uint8_t* begin, int64_t room) : out(begin), capacity(room) {}

  void open() {
    start = length;
    put(uint32_t{0});
  }
  void close() {
    const auto bytes = static_cast<uint32_t>(length - start - 4);
    if (start + 4 <= capacity)
      std::memcpy(out + start, &bytes, 4);
  }
  template <class T> void put(const T& value) { put(&value, sizeof value); }
  void put(const void* data, size_t bytes) {
    if (length + static_cast<int64_t>(bytes) <= capacity)
      std::memcpy(out + length, data, bytes);
    length += static_cast<int64_t>(bytes);
  }
  template <class Write> void section(Write write) {
    open();
    write();
    close();
  }

  int64_t length = 0;

private:
  uint8_t* out;
  int64_t capacity, start = 0;
};

template <class Each> void each_number(const char* folder, Each each) {
  DIR* const directory = ::opendir(folder);
  if (!directory)
    return;
  const int own = ::dirfd(directory);
  while (const dirent* const entry = ::readdir(directory))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
      if (const int number = std::atoi(entry->d_name); number != own)
        each(number);
  ::closedir(directory);
}

void put_file(Sections& out, const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return;
  char buffer[1024];
  for (ssize_t got; (got = ::read(file, buffer, sizeof buffer)) > 0;)
    out.put(buffer, static_cast<size_t>(got));
  ::close(file);
}

// The numbers in a folder of /proc/self as they were last listed: listing takes longer than checking each of
// them, and on a GPU they are many. Where the system reports their count, an equal count means the same
// numbers, if all of these still exist. Not thread-safe.
class Known {
public:
  // `put_one` writes the state of a number, and returns whether it exists; `count_in` returns how many there
  // are by the folder's status.
  template <class Put, class Count> void put(Sections& out, const char* folder, Put put_one, Count count_in) {
    const int64_t begin = out.length;
    struct stat status = {};
    if (count >= 0 && ::stat(folder, &status) == 0 && count_in(status) == count) {
      int place = 0;
      while (place < count && put_one(number[place]))
        ++place;
      if (place == count)
        return;
      out.length = begin;
    }
    int found = 0;
    each_number(folder, [&](int one) {
      if (put_one(one) && found++ < most)
        number[found - 1] = one;
    });
    count = found <= most ? found : -1;
  }

  // True if there are as many as when they were last listed; false where the system does not report it.
  template <class Count> bool are_as_many(const char* folder, Count count_in) const {
    struct stat status = {};
    return count >= 0 && ::stat(folder, &status) == 0 && count_in(status) == count;
  }

private:
  static constexpr int most = 4096;
  int number[most];
  int64_t count = -1; // too many to remember, or never listed
};

Known descriptors, threads;

// The size is the number of open ones since Linux 6.2; before, it is 0.
int64_t descriptors_in(const struct stat& folder) {
  return static_cast<int64_t>(folder.st_size);
}
int64_t threads_in(const struct stat& folder) {
  return static_cast<int64_t>(folder.st_nlink) - 2;
}

bool has_children() {
  siginfo_t info = {};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0; // also those without a signal
}

// Processes beside this one that are of its session, as no other child of its parent is: one that it has
// started there (CLONE_PARENT).
void put_siblings(Sections& out) {
  const pid_t own = ::getpid(), parent = ::getppid(), session = ::getsid(0);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  std::FILE* const file = own == session ? std::fopen(path, "re") : nullptr;
  if (!file)
    return;
  for (int sibling; std::fscanf(file, "%d", &sibling) == 1;)
    if (sibling != own && ::getsid(sibling) == session) {
      char text[16];
      out.put(text, static_cast<size_t>(std::snprintf(text, sizeof text, "%d ", sibling)));
    }
  std::fclose(file);
}

// Whose process it is, and what it may do.
void put_credentials(Sections& out) {
  uid_t user[3] = {};
  gid_t group[3] = {}, groups[256] = {};
  ::getresuid(&user[0], &user[1], &user[2]);
  ::getresgid(&group[0], &group[1], &group[2]);
  const int count = ::getgroups(256, groups);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct capabilities[2] = {};
  ::syscall(SYS_capget, &header, capabilities);
  out.put(user);
  out.put(group);
  out.put(groups, static_cast<size_t>(count > 0 ? count : 0) * sizeof groups[0]);
  out.put(capabilities);
}

void* mapped_page() {
  return ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// Pages that are locked cannot be given back, whether or not anything is in them.
bool is_locked(void* page) {
  return ::madvise(page, 4096, MADV_DONTNEED) != 0;
}

// Whether all memory was locked (mlockall) that is mapped, and whether all is that will be.
void put_locked_memory(Sections& out) {
  static void* const kept = mapped_page();
  void* const later = mapped_page();
  out.put(static_cast<uint8_t>(is_locked(kept)));
  out.put(static_cast<uint8_t>(is_locked(later)));
  ::munmap(later, 4096);
}

void put_memory_policy(Sections& out) {
  constexpr int most_nodes = 1024;
  int mode = 0;
  unsigned long nodes[most_nodes / (8 * sizeof(unsigned long))] = {};
  ::syscall(SYS_get_mempolicy, &mode, nodes, most_nodes, nullptr, 0);
  out.put(mode);
  out.put(nodes);
}

// How many segments of shared memory this process has made, and the semaphore sets and message queues of its
// namespace, which do not say by whom they were made.
void put_system_v(Sections& out) {
  uint32_t segments = 0;
  shm_info shared = {};
  const int last = ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&shared));
  for (int place = 0; shared.used_ids > 0 && place <= last; ++place) {
    shmid_ds one = {};
    segments += ::shmctl(place, SHM_STAT, &one) >= 0 && one.shm_cpid == ::getpid();
  }
  seminfo semaphores = {};
  ::semctl(0, 0, SEM_INFO, &semaphores);
  msginfo queues = {};
  ::msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&queues));
  out.put(segments);
  out.put(static_cast<uint32_t>(semaphores.semusz));
  out.put(static_cast<uint32_t>(queues.msgpool));
}

// x87's control word and the registers of its stack that are in use, as MMX leaves them without emms; MXCSR
// without the flags that any arithmetic sets.
struct FpEnvironment {
  uint32_t control, csr;
  bool operator==(const FpEnvironment&) const = default;
};

FpEnvironment fp_environment() {
  std::fenv_t environment;
  ::fegetenv(&environment);
  const uint32_t in_use = ~environment.__tags & 0xffffu; // an empty register has the tag 3
  return {environment.__control_word | in_use << 16, _mm_getcsr() & ~0x3fu};
}

// The part of the last snapshot that is cheap to check again. An entry of the environment that is set anew is
// another string.
struct Last {
  static constexpr int most = 1024;
  const char* entry[most];
  int entries = -1; // none taken yet, or too many to remember
  FpEnvironment fp = {};
  bool children = false;

  void take(const FpEnvironment& now, bool has) {
    fp = now, children = has, entries = 0;
    for (char** one = environ; one && *one && entries <= most; ++one, ++entries)
      if (entries < most)
        entry[entries] = *one;
    entries = entries <= most ? entries : -1;
  }

  bool has_this_environment() const {
    int place = 0;
    char** one = environ;
    for (; one && *one && place < entries && entry[place] == *one; ++one)
      ++place;
    return place == entries && !(one && *one);
  }
} last;

} // namespace

// Writes at most `capacity` bytes; returns how many there are.
extern "C" __attribute__((visibility("default"))) int64_t bitgate_process_state(uint8_t* data,
                                                                                int64_t capacity) {
  Sections out(data, capacity);
  const FpEnvironment fp = fp_environment();
  const bool children = has_children();
  last.take(fp, children);
  out.section([&] { out.put(fp); }); // fp_environment
  out.section([&] {                  // signal_handlers, for signals 1 to 64: address, flags, mask
    for (int number = 1; number <= 64; ++number) {
      struct sigaction action = {};
      uint64_t known[3] = {};
      if (::sigaction(number, nullptr, &action) == 0) {
        std::memcpy(&known[0], &action, sizeof known[0]);
        known[1] = static_cast<uint32_t>(action.sa_flags);
        std::memcpy(&known[2], &action.sa_mask, sizeof known[2]);
      }
      out.put(known);
    }
  });
  out.section([&] { // signal_mask
    sigset_t mask;
    ::sigemptyset(&mask);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    out.put(&mask, 8);
  });
  out.section([&] { // alternate_stack
    stack_t stack = {};
    ::sigaltstack(nullptr, &stack);
    out.put(stack.ss_sp);
    out.put(stack.ss_size);
  });
  out.section([&] { // working_directory
    char path[4096];
    if (::getcwd(path, sizeof path))
      out.put(path, std::strlen(path));
  });
  out.section([&] { // environment
    for (char** entry = environ; entry && *entry; ++entry)
      out.put(*entry, std::strlen(*entry) + 1);
  });
  out.section([&] { // umask
    const mode_t mask = ::umask(077);
    ::umask(mask);
    out.put(static_cast<uint32_t>(mask));
  });
  out.section([&] { // limits
    for (int which = 0; which < RLIM_NLIMITS; ++which) {
      rlimit limit = {};
      ::getrlimit(static_cast<__rlimit_resource_t>(which), &limit);
      out.put(static_cast<uint64_t>(limit.rlim_cur));
      out.put(static_cast<uint64_t>(limit.rlim_max));
    }
  });
  out.section([&] { // timers: which of the three are armed, then those of timer_create
    for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
      itimerval timer = {};
      ::getitimer(which, &timer);
      out.put(static_cast<uint8_t>(timer.it_value.tv_sec || timer.it_value.tv_usec));
    }
    put_file(out, "/proc/self/timers");
  });
  out.section([&] { out.put(static_cast<int32_t>(::getpriority(PRIO_PROCESS, 0))); }); // priority
  out.section([&] {                                                                    // affinity
    cpu_set_t cores;
    CPU_ZERO(&cores);
    ::sched_getaffinity(0, sizeof cores, &cores);
    out.put(cores);
  });
  out.section([&] { // locale
    if (const char* const name = std::setlocale(LC_ALL, nullptr))
      out.put(name, std::strlen(name));
    if (::uselocale(nullptr) != LC_GLOBAL_LOCALE)
      out.put(", and another in this thread", 28);
  });
  out.section([&] {                          // process_flags, as state.py names them
    constexpr int get_write_or_execute = 66; // PR_GET_MDWE, which older headers lack
    int at_death = 0, reaps = 0;
    ::prctl(PR_GET_PDEATHSIG, &at_death, 0, 0, 0);
    ::prctl(PR_GET_CHILD_SUBREAPER, &reaps, 0, 0, 0);
    sched_param scheduling = {};
    ::sched_getparam(0, &scheduling);
    for (const int flag : {::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), at_death, reaps,
                           ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
                           ::personality(0xffffffff), ::sched_getscheduler(0), scheduling.sched_priority,
                           ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), ::prctl(get_write_or_execute, 0, 0, 0, 0)})
      out.put(static_cast<uint32_t>(flag));
  });
  out.section([&] { put_credentials(out); });                      // credentials
  out.section([&] { put_file(out, "/proc/self/oom_score_adj"); }); // oom_score
  out.section([&] { put_locked_memory(out); });                    // locked_memory
  out.section([&] { put_memory_policy(out); });                    // memory_policy
  out.section([&] { put_system_v(out); });                         // system_v
  out.section([&] {                                                // subprocesses
    if (children)
      each_number("/proc/self/task", [&](int task) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/task/%d/children", task);
        put_file(out, path);
      });
    put_siblings(out);
  });
  out.section([&] { // threads
    const pid_t process = ::getpid();
    const auto put_one = [&](int task) {
      out.put(static_cast<uint32_t>(task));
      return ::syscall(SYS_tgkill, process, task, 0) == 0;
    };
    threads.put(out, "/proc/self/task", put_one, threads_in);
  });
  out.section([&] { // descriptors: number, device, inode, flags of the open file
    const auto put_one = [&](int number) {
      struct stat status = {};
      if (::fstat(number, &status) != 0)
        return false;
      out.put(static_cast<uint64_t>(number));
      out.put(static_cast<uint64_t>(status.st_dev));
      out.put(static_cast<uint64_t>(status.st_ino));
      out.put(static_cast<uint64_t>(::fcntl(number, F_GETFL)));
      return true;
    };
    descriptors.put(out, "/proc/self/fd", put_one, descriptors_in);
  });
  return out.length;
}

// Returns 1 if what the harness itself may change is as in the last snapshot: numbers of threads and
// descriptors, the environment, the floating-point environment. Returns 0 where that is unknown, or where
// there are children, which are not counted.
extern "C" __attribute__((visibility("default"))) int32_t bitgate_process_state_holds() {
  return last.entries >= 0 && fp_environment() == last.fp && last.has_this_environment() && !last.children &&
         !has_children() && threads.are_as_many("/proc/self/task", threads_in) &&
         descriptors.are_as_many("/proc/self/fd", descriptors_in);
}

// A library for LD_PRELOAD that makes one call of one process fail, like a full disk, a limit or a bad sector:
//
//   LOCKSTEP_TEST_FAILING_CALL="rank0 write 3 ENOSPC"
//       the third write() of rank 0 fails with "No space left on device"
//   LOCKSTEP_TEST_FAILING_CALL="count"
//       none fails; each process reports its number of calls
//   LOCKSTEP_TEST_FAILING_LOG=FILE
//       file for that report: "rank0 write 3 /run/metrics.jsonl"
//
// Processes are launcher, rank0, rank1, ..., saver (rank 0, restricted to calls on files of a checkpoint) and grader.
// Calls are grouped by their failures: open, write, fsync, rename, unlink, mmap, clone (a thread or a process), epoll.
// Only calls through a library are seen, not those inside the C library. Calls of oneDNN are let through: it has no
// error for machine code that finds no memory, and crashes (2.6).
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace {

enum class Call : unsigned { kOpen, kWrite, kFsync, kRename, kUnlink, kMmap, kClone, kEpoll };
constexpr const char* kNames[] = {"open", "write", "fsync", "rename", "unlink", "mmap", "clone", "epoll"};
constexpr std::size_t kCalls = sizeof kNames / sizeof kNames[0];

struct NamedError {
  const char* name;
  int number;
};
constexpr NamedError kErrors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EMFILE", EMFILE},
                                  {"ENFILE", ENFILE}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EACCES", EACCES},
                                  {"EROFS", EROFS},   {"EPERM", EPERM},   {"EBUSY", EBUSY},   {"EINTR", EINTR}};

// This process's part of the plan. Read from its environment at its first call, at the latest by a static object.
struct Plan {
  char process[32] = "other";  // this process's name in the plan
  bool counts = false;
  bool is_saver = false;
  Call call = Call::kOpen;
  long nth = 0;  // 0: no call fails
  int error = 0;
  const char* log = nullptr;
};

void read_process(char (&process)[32]) {
  const char* const rank = getenv("RANK");
  if (strcmp(program_invocation_short_name, "lockstep") == 0)
    strcpy(process, "launcher");
  else if (strcmp(program_invocation_short_name, "lockstep_grade") == 0)
    strcpy(process, "grader");
  else if (rank != nullptr && strncmp(program_invocation_short_name, "lockstep", 8) != 0)
    snprintf(process, sizeof process, "rank%s", rank);
}

Plan read_plan() {
  Plan plan;
  read_process(plan.process);
  plan.log = getenv("LOCKSTEP_TEST_FAILING_LOG");
  const char* const text = getenv("LOCKSTEP_TEST_FAILING_CALL");
  if (text == nullptr || plan.log == nullptr) return plan;
  plan.counts = strcmp(text, "count") == 0;
  char process[32], call[32], error[32];
  long nth = 0;
  if (plan.counts || sscanf(text, "%31s %31s %ld %31s", process, call, &nth, error) != 4) return plan;
  plan.is_saver = strcmp(process, "saver") == 0 && strcmp(plan.process, "rank0") == 0;
  if (!plan.is_saver && strcmp(process, plan.process) != 0) return plan;
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (strcmp(call, kNames[i]) == 0) plan.call = static_cast<Call>(i), plan.nth = nth;
  }
  for (const NamedError& each : kErrors) {
    if (strcmp(error, each.name) == 0) plan.error = each.number;
  }
  return plan;
}

const Plan& plan() {
  static const Plan read = read_plan();
  return read;
}

std::atomic<long> made[kCalls], made_by_saver[kCalls];

// Uses the system call itself: the functions below would count it.
void log_line(const char* process, Call call, long nth, const char* path) {
  char line[512];
  const int length =
      snprintf(line, sizeof line, "%s %s %ld %s\n", process, kNames[static_cast<unsigned>(call)], nth, path);
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, plan().log, O_WRONLY | O_CREAT | O_APPEND, 0600));
  if (fd < 0 || length <= 0) return;
  syscall(SYS_write, fd, line, static_cast<std::size_t>(length) < sizeof line ? length : static_cast<int>(sizeof line));
  syscall(SYS_close, fd);
}

// True if this call must fail. @param path  The file that it is about.
bool fails(Call call, const char* path) {
  const auto index = static_cast<unsigned>(call);
  const bool is_of_checkpoint = strstr(path, "/checkpoints/") != nullptr;
  const long all = ++made[index];
  const long of_saver = is_of_checkpoint ? ++made_by_saver[index] : 0;
  const Plan& own = plan();
  if (own.nth == 0 || own.call != call || (own.is_saver ? of_saver : all) != own.nth) return false;
  log_line(own.is_saver ? "saver" : own.process, call, own.nth, path);
  return true;
}

struct FdPath {
  explicit FdPath(int fd) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long length = syscall(SYS_readlinkat, AT_FDCWD, link, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
  }
  char text[256];
};

// Files, pipes and terminals; others (sockets, events) have different errors.
bool is_written_like_a_file(int fd) {
  struct stat status {};
  const int error = errno;
  const bool is =
      fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
  errno = error;
  return is;
}

bool is_of_onednn(const void* caller) {
  Dl_info library{};
  return dladdr(caller, &library) != 0 && library.dli_fname != nullptr &&
         strstr(library.dli_fname, "libdnnl") != nullptr;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int fail() {
  errno = plan().error;
  return -1;
}

__attribute__((destructor)) void write_counts() {
  if (!plan().counts) return;
  for (std::size_t i = 0; i < kCalls; ++i) {
    log_line(plan().process, static_cast<Call>(i), made[i], "in all");
    if (strcmp(plan().process, "rank0") == 0) log_line("saver", static_cast<Call>(i), made_by_saver[i], "in all");
  }
}

mode_t mode_of(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

#define LOCKSTEP_OPEN(name)                                               \
  int name(const char* path, int flags, ...) {                            \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    const mode_t mode = mode_of(flags, rest);                             \
    va_end(rest);                                                         \
    static auto* const real = next<int(const char*, int, mode_t)>(#name); \
    return fails(Call::kOpen, path) ? fail() : real(path, flags, mode);   \
  }
#define LOCKSTEP_OPENAT(name)                                                   \
  int name(int folder, const char* path, int flags, ...) {                      \
    va_list rest;                                                               \
    va_start(rest, flags);                                                      \
    const mode_t mode = mode_of(flags, rest);                                   \
    va_end(rest);                                                               \
    static auto* const real = next<int(int, const char*, int, mode_t)>(#name);  \
    return fails(Call::kOpen, path) ? fail() : real(folder, path, flags, mode); \
  }
#define LOCKSTEP_FOPEN(name)                                                \
  FILE* name(const char* path, const char* mode) {                          \
    static auto* const real = next<FILE*(const char*, const char*)>(#name); \
    return fails(Call::kOpen, path) ? (fail(), nullptr) : real(path, mode); \
  }

extern "C" {

LOCKSTEP_OPEN(open)
LOCKSTEP_OPEN(open64)
LOCKSTEP_OPENAT(openat)
LOCKSTEP_OPENAT(openat64)
LOCKSTEP_FOPEN(fopen)
LOCKSTEP_FOPEN(fopen64)

DIR* opendir(const char* path) {
  static auto* const real = next<DIR*(const char*)>("opendir");
  return fails(Call::kOpen, path) ? (fail(), nullptr) : real(path);
}

ssize_t write(int fd, const void* bytes, size_t count) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  return is_written_like_a_file(fd) && fails(Call::kWrite, FdPath(fd).text) ? fail() : real(fd, bytes, count);
}
ssize_t writev(int fd, const iovec* pieces, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  return is_written_like_a_file(fd) && fails(Call::kWrite, FdPath(fd).text) ? fail() : real(fd, pieces, count);
}

int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  return fails(Call::kFsync, FdPath(fd).text) ? fail() : real(fd);
}
int fdatasync(int fd) {
  static auto* const real = next<int(int)>("fdatasync");
  return fails(Call::kFsync, FdPath(fd).text) ? fail() : real(fd);
}

int rename(const char* from, const char* to) {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return fails(Call::kRename, to) ? fail() : real(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(Call::kRename, to) ? fail() : real(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
  static auto* const real = next<int(const char*)>("unlink");
  return fails(Call::kUnlink, path) ? fail() : real(path);
}
int unlinkat(int folder, const char* path, int flags) {
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  if (folder == AT_FDCWD) return fails(Call::kUnlink, path) ? fail() : real(folder, path, flags);
  return fails(Call::kUnlink, FdPath(folder).text) ? fail() : real(folder, path, flags);
}
int remove(const char* path) {
  static auto* const real = next<int(const char*)>("remove");
  return fails(Call::kUnlink, path) ? fail() : real(path);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  static auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (is_of_onednn(__builtin_return_address(0))) return real(address, bytes, protection, flags, fd, offset);
  const bool fails_now = fails(Call::kMmap, fd >= 0 ? FdPath(fd).text : "memory");
  return fails_now ? (fail(), MAP_FAILED) : real(address, bytes, protection, flags, fd, offset);
}
void* mmap64(void* address, size_t bytes, int protection, int flags, int fd, off64_t offset) {
  static auto* const real = next<void*(void*, size_t, int, int, int, off64_t)>("mmap64");
  if (is_of_onednn(__builtin_return_address(0))) return real(address, bytes, protection, flags, fd, offset);
  const bool fails_now = fails(Call::kMmap, fd >= 0 ? FdPath(fd).text : "memory");
  return fails_now ? (fail(), MAP_FAILED) : real(address, bytes, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static auto* const real = next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(Call::kClone, "thread") ? plan().error : real(thread, attributes, start, argument);
}
pid_t fork() {
  static auto* const real = next<pid_t()>("fork");
  return fails(Call::kClone, "process") ? fail() : real();
}
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* argv, char* const* variables) {
  static auto* const real = next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                                     char* const*, char* const*)>("posix_spawn");
  return fails(Call::kClone, path) ? plan().error : real(pid, path, actions, attributes, argv, variables);
}
int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* argv, char* const* variables) {
  static auto* const real = next<int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                                     char* const*, char* const*)>("posix_spawnp");
  return fails(Call::kClone, name) ? plan().error : real(pid, name, actions, attributes, argv, variables);
}

int epoll_create1(int flags) {
  static auto* const real = next<int(int)>("epoll_create1");
  return fails(Call::kEpoll, "epoll_create1") ? fail() : real(flags);
}
int epoll_ctl(int set, int operation, int fd, epoll_event* event) {
  static auto* const real = next<int(int, int, int, epoll_event*)>("epoll_ctl");
  return fails(Call::kEpoll, "epoll_ctl") ? fail() : real(set, operation, fd, event);
}
int epoll_wait(int set, epoll_event* events, int most, int timeout) {
  static auto* const real = next<int(int, epoll_event*, int, int)>("epoll_wait");
  return fails(Call::kEpoll, "epoll_wait") ? fail() : real(set, events, most, timeout);
}

}  // extern "C"

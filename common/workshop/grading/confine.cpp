// lockstep_confine: drops its own rights, reports that the sandbox is set up, and executes the command after `--`.
//
//   lockstep_confine memory=BYTES file=BYTES processes=N files=N seconds=N user=UID -- command...
//   lockstep_confine user=UID kill          ends every process of that user
//   lockstep_confine try=NAME ARGUMENT      tries a forbidden action (protections.hpp)
//
// Inside bubblewrap it adds limits, a separate user and a filter of system calls; without bubblewrap these are the only
// protection. It is started for every rank, so it needs no shared libraries of its own and parses only NAME=NUMBER.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "exercise/trial_layout.hpp"
#include "grading/protections.hpp"

namespace {

[[noreturn]] void give_up(const std::string& what) {
  const std::string text = "lockstep_confine: " + what + ": " + std::strerror(errno) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  std::_Exit(125);
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &now);
  if (most > now.rlim_max) most = now.rlim_max;
  const rlimit wanted{most, most};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &wanted) != 0) give_up("setrlimit");
}

// If memory runs out, the kernel kills this process before the judge.
void offer_for_ending() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;  // without /proc the judge is just as likely to be killed
  (void)!::write(fd, "1000", 4);
  ::close(fd);
}

void become_user(uid_t user) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0)
    give_up("cannot change to the user for submissions");
}

// System calls that no exercise needs and that reach other processes, the network or rarely used parts of the kernel.
constexpr const char* kForbiddenCalls[] = {"ptrace",
                                           "process_vm_readv",
                                           "process_vm_writev",
                                           "userfaultfd",
                                           "bpf",
                                           "perf_event_open",
                                           "keyctl",
                                           "add_key",
                                           "request_key",
                                           "unshare",
                                           "setns",
                                           "io_uring_setup",
                                           "mount",
                                           "umount2",
                                           "pivot_root",
                                           "chroot",
                                           "swapon",
                                           "open_by_handle_at",
                                           "reboot",
                                           "init_module",
                                           "finit_module",
                                           "kexec_load",
                                           "delete_module",
                                           "name_to_handle_at",
                                           "syslog",
                                           "pidfd_getfd",
                                           "msgget",
                                           "semget",
                                           "shmget",
                                           "mq_open"};

// Adds a rule for a system call by name; names unknown to this processor's kernel are skipped.
template <typename... Conditions>
bool add_rule(scmp_filter_ctx filter, unsigned action, const char* call, Conditions... conditions) {
  const int number = ::seccomp_syscall_resolve_name(call);
  return number == __NR_SCMP_ERROR ||
         ::seccomp_rule_add(filter, action, number, sizeof...(conditions), conditions...) == 0;
}

// Forbidden calls fail with EPERM, sockets are of AF_UNIX only unless the sandbox has a network of its own, new user
// namespaces cannot be made. clone3, whose flags are in memory that a filter cannot read, does not exist: the C library
// then uses clone. Calls by the numbers of another processor end the process.
void filter_calls(bool may_connect) {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) give_up("seccomp_init");
  bool is_complete = ::seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0;
  for (const char* call : kForbiddenCalls) is_complete &= add_rule(filter, SCMP_ACT_ERRNO(EPERM), call);
  is_complete &= add_rule(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3");
  is_complete &=
      add_rule(filter, SCMP_ACT_ERRNO(EPERM), "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
  if (!may_connect) is_complete &= add_rule(filter, SCMP_ACT_ERRNO(EPERM), "socket", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  if (!is_complete) give_up("a rule for system calls");
  // On a kernel without seccomp, grade's probe reports that this protection is missing.
  (void)::seccomp_load(filter);
  ::seccomp_release(filter);
}

struct Limit {
  std::string_view name;
  int resource;
};
constexpr Limit kLimits[] = {{"memory=", RLIMIT_AS},
                             {"file=", RLIMIT_FSIZE},
                             {"processes=", RLIMIT_NPROC},
                             {"files=", RLIMIT_NOFILE},
                             {"seconds=", RLIMIT_CPU}};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]).starts_with("try="))
    return lockstep::grading::try_protection(argv[1] + 4, argv[2]);
  limit(RLIMIT_CORE, 0);
  uid_t user = 0;
  bool may_connect = false;
  int next = 1;
  for (; next < argc && std::string_view(argv[next]) != "--"; ++next) {
    const std::string_view word = argv[next];
    if (word == "kill" && user != 0) {
      become_user(user);
      return ::kill(-1, SIGKILL) == 0 || errno == ESRCH ? 0 : 1;
    }
    const auto value = std::strtoull(word.substr(word.find('=') + 1).data(), nullptr, 10);
    may_connect = may_connect || word == "sockets=1";
    if (word.starts_with("user=")) user = static_cast<uid_t>(value);
    for (const Limit& one : kLimits)
      if (word.starts_with(one.name)) limit(one.resource, value);
  }
  offer_for_ending();
  if (user != 0) become_user(user);
  if (next + 1 >= argc) {
    errno = EINVAL;
    give_up("no command");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("PR_SET_NO_NEW_PRIVS");
  filter_calls(may_connect);
  char** const command = argv + next + 1;
  if (std::strchr(command[0], '/') != nullptr && ::access(command[0], X_OK) != 0) give_up(command[0]);
  (void)!::write(STDERR_FILENO, lockstep::exercise::kSandboxMark, std::strlen(lockstep::exercise::kSandboxMark));
  // The kernel refuses with EAGAIN as long as the user has too many processes: a killed sandbox's may still be ending.
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int tries = 0; tries < 500; ++tries) {
    ::execvp(command[0], command);
    if (errno != EAGAIN) break;
    ::nanosleep(&kPause, nullptr);
  }
  give_up(command[0]);
}

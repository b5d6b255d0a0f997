// lockstep_confine: takes rights away from itself, says that the sandbox stands, and becomes the command behind `--`.
//
//   lockstep_confine memory=BYTES file=BYTES processes=N files=N seconds=N user=UID -- command...
//   lockstep_confine user=UID kill          ends every process of that user
//   lockstep_confine try=NAME ARGUMENT      tries what a sandbox must prevent (protections.hpp)
//
// Inside of bubblewrap it adds limits, a user of its own and a filter of system calls; alone it is what is left of a
// sandbox where bubblewrap cannot work. It is started for every rank: no libraries, no parsing beyond NAME=NUMBER.
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

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

// Where memory is short, the kernel ends this process before it ends the judge.
void offer_for_ending() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;  // without /proc the judge is as likely to be ended
  (void)!::write(fd, "1000", 4);
  ::close(fd);
}

void become_user(uid_t user) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0)
    give_up("cannot change to the user for submissions");
}

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// Calls that no exercise needs and that reach other processes, the network or seldom used parts of the kernel.
std::vector<long> forbidden_calls() {
  return {SYS_ptrace,
          SYS_process_vm_readv,
          SYS_process_vm_writev,
          SYS_userfaultfd,
          SYS_bpf,
          SYS_perf_event_open,
          SYS_keyctl,
          SYS_add_key,
          SYS_request_key,
          SYS_io_uring_setup,
          SYS_unshare,
          SYS_setns,
          SYS_mount,
          SYS_umount2,
          SYS_pivot_root,
          SYS_chroot,
          SYS_open_by_handle_at,
          SYS_name_to_handle_at,
          SYS_swapon,
          SYS_reboot,
          SYS_init_module,
          SYS_finit_module,
          SYS_delete_module,
          SYS_kexec_load,
          SYS_syslog,
          SYS_pidfd_getfd,
          SYS_msgget,
          SYS_semget,
          SYS_shmget,
          SYS_mq_open};
}

// A program for the kernel's classic BPF machine: forbidden calls fail with EPERM, sockets are of AF_UNIX only unless
// the sandbox has a network of its own, new user namespaces cannot be made. clone3, whose flags are in memory that a
// filter cannot read, does not exist: the C library then uses clone.
std::vector<sock_filter> filter_of_calls(bool may_connect) {
  const auto load = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(offset)};
  };
  const auto answer = [](unsigned action) { return sock_filter{BPF_RET | BPF_K, 0, 0, action}; };
  const auto skip_unless_equal = [](long value, unsigned char lines) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, lines, static_cast<unsigned>(value)};
  };
  const unsigned refuse = SECCOMP_RET_ERRNO | EPERM, allow = SECCOMP_RET_ALLOW;
  const std::size_t number = offsetof(seccomp_data, nr), first_argument = offsetof(seccomp_data, args);
  std::vector<sock_filter> program = {load(offsetof(seccomp_data, arch)),
                                      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kArchitecture},
                                      answer(SECCOMP_RET_KILL_PROCESS),
                                      load(number)};
  for (const long call : forbidden_calls()) {
    program.push_back(skip_unless_equal(call, 1));
    program.push_back(answer(refuse));
  }
#if defined(__x86_64__)
  constexpr unsigned kX32 = 0x40000000;  // the same calls under other numbers
  program.push_back({BPF_JMP | BPF_JGE | BPF_K, 0, 1, kX32});
  program.push_back(answer(refuse));
#endif
  program.push_back(skip_unless_equal(SYS_clone3, 1));
  program.push_back(answer(SECCOMP_RET_ERRNO | ENOSYS));
  if (!may_connect) {
    program.push_back(skip_unless_equal(SYS_socket, 4));
    program.push_back(load(first_argument));
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_UNIX});
    program.push_back(answer(refuse));
    program.push_back(answer(allow));
  }
  program.push_back(skip_unless_equal(SYS_clone, 4));
  program.push_back(load(first_argument));
  program.push_back({BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_NEWUSER});
  program.push_back(answer(refuse));
  program.push_back(answer(allow));
  program.push_back(answer(allow));
  return program;
}

void filter_calls(bool may_connect) {
  std::vector<sock_filter> filter = filter_of_calls(may_connect);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // A kernel without seccomp: grade's probe finds that this protection is missing, and says so.
  (void)::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
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
  ::execvp(command[0], command);
  give_up(command[0]);
}

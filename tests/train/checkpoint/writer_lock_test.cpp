#include "checkpoint/writer_lock.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using checkpoint::WriterLock;

namespace {

// From here on flock(2) fails in this thread as on a file system without locks. @return  What went wrong, if anything.
std::string refuse_locks() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) return "no filter";
  return "";
}

}  // namespace

TEST_CASE("a folder of checkpoints has one writer at a time", "[checkpoint]") {
  const test::TemporaryFolder root;
  const std::filesystem::path folder = root / "run/checkpoints";
  std::optional<WriterLock> first(folder);
  CHECK_THROWS_WITH(WriterLock(folder), ContainsSubstring("cannot save in " + folder.string()) &&
                                            ContainsSubstring("of several ranks only one may save"));
  CHECK_NOTHROW(WriterLock(root / "another"));
  CHECK(checkpoint::CheckpointFolder(folder).list().empty());
  first.reset();
  CHECK_NOTHROW(WriterLock(folder));
}

TEST_CASE("the lock is on a descriptor that can write, as NFS wants it", "[checkpoint]") {
  const test::TemporaryFolder root;
  const WriterLock lock(root.path());
  bool is_found = false;
  for (int fd = 0; fd < 1024; ++fd) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    if (error || target.string().find(root.path().string()) != 0) continue;
    is_found = true;
    CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
  }
  CHECK(is_found);
}

TEST_CASE("where the system cannot lock, nothing is saved, and the message says so", "[checkpoint]") {
  const test::TemporaryFolder root;
  std::string message;
  std::thread([&] {  // the filter holds for this thread alone, and ends with it
    const std::string problem = refuse_locks();
    try {
      const WriterLock lock(root.path());
      message = problem.empty() ? "locked" : problem;
    } catch (const IoError& error) {
      message = error.what();
    }
  })
      .join();
  CHECK_THAT(message, ContainsSubstring("cannot lock " + (root / ".writer_lock").string()) &&
                          ContainsSubstring("No locks available"));
}

TEST_CASE("a folder that cannot be made is named", "[checkpoint]") {
  CHECK_THROWS_WITH(WriterLock("/proc/no_such_folder/checkpoints"), ContainsSubstring("/proc/no_such_folder"));
}

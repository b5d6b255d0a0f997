#include "launch/local/output_queue.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "base/file.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using launch::OutputQueue;
using enum launch::OutputStream;

namespace {

struct OpenPipe {
  OpenPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
      read.reset(ends[0]);
      write.reset(ends[1]);
    }
  }
  UniqueFd read;
  UniqueFd write;
};

// The data that can be read now, or in a moment: a terminal passes on what was written with a delay.
std::string read_some(const UniqueFd& fd) {
  std::string text;
  char buffer[64 * 1024];
  for (pollfd watched{fd.get(), POLLIN, 0}; poll(&watched, 1, 1) > 0;) {
    const ssize_t bytes = read(fd.get(), buffer, sizeof(buffer));
    if (bytes <= 0) break;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
  return text;
}

// Flushes and reads by turns until nothing waits.
std::string read_all(OutputQueue& queue, const UniqueFd& fd) {
  std::string text;
  while (!queue.is_empty()) {
    queue.flush();
    text += read_some(fd);
  }
  return text;
}

}  // namespace

TEST_CASE("more than a reader takes at once waits, in order, and one stream does not wait for the other", "[launch]") {
  const OpenPipe out, err;
  OutputQueue queue(out.write.get(), err.write.get());
  std::string expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    queue.add(kOut, line);
    expected += line;
    if (i % 1000 == 0) queue.flush();
  }
  queue.add(kErr, "an error\n");
  queue.flush();
  CHECK(queue.waiting_fd(kErr) == -1);
  CHECK(queue.waiting_fd(kOut) >= 0);
  CHECK(read_some(err.read) == "an error\n");
  CHECK(read_all(queue, out.read) == expected);
  CHECK((fcntl(out.write.get(), F_GETFL) & O_NONBLOCK) == 0);  // others write there as well
}

TEST_CASE("a pipe whose reader is slow loses nothing, but says that it is full", "[launch]") {
  const OpenPipe out, err;
  OutputQueue queue(out.write.get(), err.write.get());
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 18; ++i) queue.add(kOut, piece);
  CHECK(queue.is_full(kOut));
  CHECK_FALSE(queue.is_full(kErr));
  CHECK(read_all(queue, out.read).size() == 18 * piece.size());
  CHECK_FALSE(queue.is_full(kOut));
}

TEST_CASE("output that nobody can read any more is lost, without a signal", "[launch]") {
  struct sigaction ignore {};
  struct sigaction previous {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &previous);
  OpenPipe out;
  const OpenPipe err;
  OutputQueue queue(out.write.get(), err.write.get());
  out.read.reset();
  queue.add(kOut, "nobody\n");
  queue.add(kErr, "somebody\n");
  queue.flush();
  CHECK(queue.is_lost(kOut));
  CHECK(queue.is_empty());
  CHECK(read_some(err.read) == "somebody\n");
  sigaction(SIGPIPE, &previous, nullptr);
}

TEST_CASE("a full disk costs output, is said once, and what comes after it is written", "[launch]") {
  const test::TemporaryFolder folder;
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const UniqueFd out(fcntl(full.get(), F_DUPFD_CLOEXEC, 0));
  const OpenPipe err;
  OutputQueue queue(out.get(), err.write.get());
  queue.add(kOut, "lost\n");
  queue.add(kErr, "an error\n");
  queue.flush();
  CHECK_FALSE(queue.is_lost(kOut));
  CHECK(queue.is_empty());
  CHECK(read_some(err.read) == "an error\n");
  const auto problem = queue.take_problem();
  REQUIRE(problem);
  CHECK_THAT(*problem, ContainsSubstring("standard output cannot be written (No space left on device)"));
  queue.add(kOut, "lost too\n");
  queue.flush();
  CHECK_FALSE(queue.take_problem());
  const std::string file = (folder / "out").string();
  const UniqueFd disk(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(dup2(disk.get(), out.get()) == out.get());
  queue.add(kOut, "there\n");
  queue.add(kOut, "again\n");
  queue.flush();
  CHECK(read_file(file) == "\n[14 bytes of output are missing here: No space left on device]\nthere\nagain\n");
}

// A disk that is full in the middle of a line; "too large" and "no space" are the same to who prints.
TEST_CASE("a file that may not grow is no reader that has gone", "[launch]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "out").string();
  const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const OpenPipe err;
  OutputQueue queue(out.get(), err.write.get());
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit limit = before;
  limit.rlim_cur = 10;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  queue.add(kOut, "a line of 21 letters\n");
  queue.flush();
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, previous);
  CHECK_FALSE(queue.is_lost(kOut));
  REQUIRE(queue.take_problem());
  queue.add(kOut, "the next\n");
  queue.flush();
  CHECK(read_file(file) == "a line of \n[11 bytes of output are missing here: File too large]\nthe next\n");
}

TEST_CASE("a terminal that is stopped gets the last lines later, and a line about those that are missing", "[launch]") {
  int master = -1, slave = -1;
  REQUIRE(openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  const UniqueFd screen(master), terminal(slave);
  REQUIRE(tcflow(slave, TCOOFF) == 0);  // Ctrl-S
  OutputQueue queue(slave, slave);
  const std::string line(1022, '.');
  for (int i = 0; i < 20 * 1024; ++i) queue.add(i % 2 == 0 ? kOut : kErr, line + "\n");
  queue.flush();
  for (int i = 0; i < 20 * 1024; ++i) queue.add(kOut, line + "\n");
  queue.add(kErr, "the last line\n");
  CHECK_FALSE(queue.is_full(kOut));
  CHECK(read_some(screen) == "");
  REQUIRE(tcflow(slave, TCOON) == 0);
  const std::string shown = read_all(queue, screen);
  CHECK(shown.size() > OutputQueue::kMostBytes / 2);
  CHECK_THAT(shown.substr(0, 4096), ContainsSubstring("bytes of output are missing here"));
  CHECK_THAT(shown.substr(shown.size() - 100), ContainsSubstring("the last line"));
}

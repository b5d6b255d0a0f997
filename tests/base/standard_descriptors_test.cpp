// Every program of ours opens what was closed of its standard streams, before it opens anything else.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

std::string target_of(int fd) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(concat("/proc/self/fd/", fd), error);
  return error ? "closed" : path.string();
}

// The descriptors that a static object's constructor finds, which runs before main().
const int first_free_at_start = [] {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(fd);
  return fd;
}();

}  // namespace

// Not run by itself: the test below does.
TEST_CASE("writes down where its standard streams go", "[.]") {
  const std::string streams = concat(target_of(0), " ", target_of(1), " ", target_of(2));
  write_file(*environment::get("LOCKSTEP_TEST_ANSWER"), concat(streams, first_free_at_start > 2 ? "" : " too late"));
}

TEST_CASE("closed standard streams are /dev/null from the very beginning", "[base]") {
  const test::TemporaryFolder folder;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string answer = (folder / "answer").string();
  const auto streams_with = [&](const std::string& redirections) {
    const std::string script = concat("exec '", self, "' 'writes down where its standard streams go' ", redirections);
    const int status = test::run_program({"sh", "-c", script}, {{"LOCKSTEP_TEST_ANSWER", answer}}).exit_code;
    return status == 0 ? read_file(answer) : concat("ended with ", status);
  };
  CHECK(streams_with("<&- >&- 2>&-") == "/dev/null /dev/null /dev/null");
  CHECK(streams_with("<&- >/dev/zero 2>/dev/full") == "/dev/null /dev/zero /dev/full");
  CHECK(streams_with("</dev/zero >&- 2>/dev/full") == "/dev/zero /dev/null /dev/full");
  CHECK(streams_with("</dev/zero >/dev/full 2>&-") == "/dev/zero /dev/full /dev/null");
}

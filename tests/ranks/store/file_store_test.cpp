// Mistakes that only a store in a file can make: writers that are killed, and what earlier runs have left behind.
#include "store/file_store.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "net/bytes.hpp"
#include "store/file_log.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using store::FileStore;
using test::soon;

namespace {

void append_to(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

}  // namespace

TEST_CASE("a writer killed at any moment loses nothing that it was told is done", "[store]") {
  const test::TemporaryFolder folder;
  FileStore survivor(folder / "store", soon());
  std::int64_t before = 0;
  for (int trial = 0; trial < 20; ++trial) {
    test::Subprocess writer({test::built_program("file_store_helper"), (folder / "store").string()});
    REQUIRE(writer.wait_for_output("counted "));
    std::this_thread::sleep_for(std::chrono::milliseconds(trial % 7));
    writer.send_signal(SIGKILL);
    const test::Finished finished = writer.wait();
    const std::size_t last = finished.out.rfind("counted ", finished.out.rfind('\n'));
    const std::int64_t counted = std::stoll(finished.out.substr(last + 8));  // past "counted "
    const std::int64_t now = survivor.add("count", 0);
    CHECK(now >= counted);
    CHECK(now > before);
    before = now;
    const std::string value = survivor.get("long", soon());
    CHECK(value.size() == 200'000);
    CHECK(value.find_first_not_of(value.front()) == std::string::npos);
  }
}

TEST_CASE("half a record at the end is as good as none", "[store]") {
  const test::TemporaryFolder folder;
  const auto path = folder / "store";
  FileStore first(path, soon()), second(path, soon());
  first.set("a", "1");
  const std::string record = net::to_text(store::encode({"b", "2"}));
  for (std::size_t bytes = 1; bytes < record.size(); ++bytes) {
    append_to(path, record.substr(0, bytes));
    CHECK_FALSE(first.try_get("b").has_value());
    CHECK(second.get("a", soon()) == "1");
  }
  append_to(path, record.substr(0, 20));
  second.set("c", "3");
  CHECK(first.get("c", soon()) == "3");
  CHECK_FALSE(first.try_get("b").has_value());
}

TEST_CASE("what a run that crashed has left is not seen by the next", "[store]") {
  const test::TemporaryFolder folder;
  const auto path = folder / "store";
  {
    test::Subprocess crashed({test::built_program("file_store_helper"), path.string()});
    REQUIRE(crashed.wait_for_output("counted 1"));
    crashed.send_signal(SIGKILL);
    (void)crashed.wait();
  }
  REQUIRE(std::filesystem::file_size(path) > 0);
  FileStore fresh(path, soon());
  CHECK_FALSE(fresh.try_get("count").has_value());
  CHECK(fresh.add("count", 1) == 1);
  FileStore other(path, soon());  // joins, and does not begin afresh
  CHECK(other.add("count", 0) == 1);
}

TEST_CASE("the last one to close removes the file", "[store]") {
  const test::TemporaryFolder folder;
  const auto path = folder / "store";
  auto first = std::make_unique<FileStore>(path, soon());
  auto second = std::make_unique<FileStore>(path, soon());
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  first.reset();
  CHECK(std::filesystem::exists(path));
  second->set("k", "still usable");
  second.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("stores that come and go at the same time never lose each other", "[store]") {
  const test::TemporaryFolder folder;
  const auto path = folder / "store";
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([&, number] {
        for (int i = 0; i < 50; ++i) {
          FileStore own(path, soon());
          const std::string key = concat("key ", number);
          own.set(key, concat(i));
          wrong += own.try_get(key) != concat(i);
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a file that others can read, a folder, and a link are refused", "[store]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "open") << "";
  ::chmod((folder / "open").c_str(), 0644);
  CHECK_THROWS_WITH(FileStore(folder / "open", soon()), ContainsSubstring("this user alone"));
  CHECK_THROWS_AS(FileStore(folder.path(), soon()), IoError);
  std::filesystem::create_symlink(folder / "elsewhere", folder / "link");
  CHECK_THROWS_AS(FileStore(folder / "link", soon()), IoError);
  CHECK_THROWS_WITH(FileStore(folder / "no" / "store", soon()), ContainsSubstring("opening"));
}

TEST_CASE("a process that is stopped in the middle of a change is a timeout, not a hang", "[store]") {
  const test::TemporaryFolder folder;
  const auto path = folder / "store";
  const FileStore keeper(path, soon());
  const UniqueFd stopped(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  REQUIRE(::fcntl(stopped.get(), F_OFD_SETLK, &range) == 0);
  CHECK_THROWS_WITH(FileStore(path, Deadline::after(50ms)), ContainsSubstring("another process holds the lock"));
  range.l_type = F_UNLCK;
  REQUIRE(::fcntl(stopped.get(), F_OFD_SETLK, &range) == 0);
}

#include "data/fetch.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

namespace fs = std::filesystem;

// A shell script in the place of curl. In it $out is the file to write and $url the address.
FetchSource fake_source(const test::TemporaryFolder& folder, const std::string& script) {
  const fs::path program = folder / "fake_curl";
  write_file(program,
             "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\nurl=$1\n" + script);
  fs::permissions(program, fs::perms::owner_all);
  return {.url = "https://example.invalid/text",
          .sha256 = sha256_hex("the text"),
          .program = program.string(),
          .time_limit_s = 20};
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("a fetched text lands under its name, whole and verified", "[data]") {
  const test::TemporaryFolder folder;
  const fs::path destination = folder / "deep/er/text";
  fetch(fake_source(folder, "printf 'the text' > \"$out\"\n"), destination);
  CHECK(read_file(destination) == "the text");
  CHECK(files_in(destination.parent_path()) == 1);
  // A second fetch finds it there and starts nothing.
  CHECK_NOTHROW(fetch(fake_source(folder, "exit 9\n"), destination));
}

TEST_CASE("no internet is an error with the program's words and the way out", "[data]") {
  const test::TemporaryFolder folder;
  const fs::path destination = folder / "data/text";
  const FetchSource source =
      fake_source(folder, "printf part > \"$out\"; echo 'curl: (6) Could not resolve host' >&2; exit 6\n");
  CHECK_THROWS_WITH(fetch(source, destination),
                    ContainsSubstring("could not fetch https://example.invalid/text") &&
                        ContainsSubstring("ended with exit code 6: curl: (6) Could not resolve host") &&
                        ContainsSubstring("put it at " + destination.string()) && ContainsSubstring("--data"));
  CHECK(files_in(folder / "data") == 0);
}

TEST_CASE("what has another checksum is not kept, and an older file stays", "[data]") {
  const test::TemporaryFolder folder;
  const fs::path destination = folder / "data/text";
  fs::create_directories(destination.parent_path());
  write_file(destination, "an older text");
  const FetchSource source = fake_source(folder, "printf 'a log-in page' > \"$out\"\n");
  CHECK_THROWS_WITH(fetch(source, destination), ContainsSubstring("has SHA-256 " + sha256_hex("a log-in page")) &&
                                                    ContainsSubstring("expected " + source.sha256));
  CHECK(read_file(destination) == "an older text");
  CHECK(files_in(folder / "data") == 1);
}

TEST_CASE("a missing downloader and one that never ends are errors", "[data]") {
  const test::TemporaryFolder folder;
  FetchSource source = fake_source(folder, "exec sleep 1000\n");
  source.time_limit_s = 0;  // and one second for the program to keep it by itself
  CHECK_THROWS_WITH(fetch(source, folder / "text"), ContainsSubstring("was ended by signal 9"));
  source.program = "lockstep_no_such_program";
  CHECK_THROWS_WITH(fetch(source, folder / "text"),
                    ContainsSubstring("cannot start lockstep_no_such_program: No such file or directory"));
}

TEST_CASE("the source of tiny Shakespeare is complete", "[data]") {
  CHECK(tiny_shakespeare_source().sha256.size() == 64);
  CHECK(tiny_shakespeare_source().program == "curl");
}

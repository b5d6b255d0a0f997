#include "base/file.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("a file reads back as written, zero bytes included, and is replaced whole", "[base]") {
  const auto path = std::filesystem::temp_directory_path() / ("lockstep_file_test_" + std::to_string(::getpid()));
  const std::string bytes(200'000, '\0');
  write_file(path, bytes);
  CHECK(read_file(path) == bytes);
  write_file(path, "short");
  CHECK(read_file(path) == "short");
  std::filesystem::remove(path);
  CHECK_THROWS_WITH(read_file(path), "reading " + path.string() + ": No such file or directory");
  CHECK_THROWS_AS(write_file(path / "below", "x"), IoError);
}

TEST_CASE("a full disk is an error that names the file", "[base]") {
  CHECK_THROWS_WITH(write_file("/dev/full", "x"), "writing /dev/full: No space left on device");
}

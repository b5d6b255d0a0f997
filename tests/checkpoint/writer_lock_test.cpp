#include "checkpoint/writer_lock.hpp"

#include <optional>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using checkpoint::WriterLock;

TEST_CASE("a folder of checkpoints has one writer at a time, and nothing of the lock lies in it", "[checkpoint]") {
  const test::TemporaryFolder root;
  const std::filesystem::path folder = root / "run/checkpoints";
  std::optional<WriterLock> first(folder);
  CHECK_THROWS_WITH(WriterLock(folder), ContainsSubstring("cannot save in " + folder.string()) &&
                                            ContainsSubstring("of several ranks only one may save"));
  CHECK_NOTHROW(WriterLock(root / "another"));
  CHECK(std::filesystem::is_empty(folder));
  first.reset();
  CHECK_NOTHROW(WriterLock(folder));
}

TEST_CASE("a folder that cannot be made is named", "[checkpoint]") {
  CHECK_THROWS_WITH(WriterLock("/proc/no_such_folder/checkpoints"), ContainsSubstring("/proc/no_such_folder"));
}

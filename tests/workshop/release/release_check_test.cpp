#include "release/release_check.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "release/release_note.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::release;

TEST_CASE("What students must not get is named", "[release]") {
  const std::string answer = "mean = total_of(parts, weights) / count_of(parts, weights) + offset;";
  Answers answers;
  answers.add_solution("05.1", "// SOLUTION(05.1) f: hint\n" + answer + "\n// END SOLUTION\n");
  REQUIRE(answers.size() > 0);
  const lockstep::test::TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  for (const char* name : {"solutions", "tests", "prebuilt", "chapters"})
    std::filesystem::create_directories(root / name);
  write_file(root / "chapters/fine.cpp", "int main() {}\n");
  CHECK(check_release(root, answers, {}).empty());
  write_file(root / "chapters/copy.cpp", "int x;\n" + answer);
  write_file(root / "chapters/shown.md", answer);
  write_file(root / "prebuilt/judge", std::string("\0ELF.debug_info", 15));
  write_file(root / "solutions/x.cpp", "");
  write_file(root / "tests/judge.cpp", "");
  const auto problems = check_release(root, answers, {"chapters/shown.md"});
  REQUIRE(problems.size() == 4);
  CHECK(problems[0].starts_with("chapters/copy.cpp:2: a part of 05.1's answer: "));
  CHECK(problems[1] == "prebuilt/judge: has .debug_info in it");
  CHECK(problems[2] == "solutions/x.cpp: not for students");
  CHECK(problems[3] == "tests/judge.cpp: not for students");
}

TEST_CASE("Only the secret's owner can make a release's key", "[release]") {
  const lockstep::test::TemporaryFolder folder;
  const std::string secret = read_or_make_secret(folder.path() / "secret");
  CHECK(secret.size() == 64);
  CHECK(read_or_make_secret(folder.path() / "secret") == secret);
  CHECK(key_of(secret, "ppc-2026", "abc").size() == 32);
  CHECK(key_of(secret, "ppc-2026", "abc") != key_of(secret + "x", "ppc-2026", "abc"));
  CHECK_THROWS(require_class_name("../x"));
  CHECK_NOTHROW(require_class_name("ppc-2026"));
}

// A tree's release of the course: from its file RELEASE, otherwise from git's tags.
#include "grading/release.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "support/traced_git.hpp"

namespace lockstep::grading {
namespace {

const std::string kHash = "0123456789abcdef0123456789abcdef01234567";

void git(const test::TemporaryFolder& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command = {"git",         "-C", folder.path().string(),    "-c",
                                      "user.name=T", "-c", "user.email=t@example.org"};
  command.insert(command.end(), words.begin(), words.end());
  const test::Finished finished = test::run_program(command, {{"GIT_CONFIG_GLOBAL", "/dev/null"}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
}

// A repository with one commit and these tags.
void make_repository(const test::TemporaryFolder& folder, const std::vector<std::string>& tags) {
  git(folder, {"init", "--quiet"});
  git(folder, {"commit", "--quiet", "--allow-empty", "--message", "first"});
  for (const std::string& tag : tags) git(folder, {"tag", tag});
}

}  // namespace

TEST_CASE("RELEASE says release and commit, and its other lines may say anything", "[grading]") {
  const std::string end_of_line = GENERATE("\n", "\r\n");
  std::string text;
  for (const char* line : {"class: ppc-2026", "release: release-ppc-2026", "commit: 0123456789abcdef",
                           "date: 2026-10-01", "key: 00ff", "a line without a name"})
    text += line + end_of_line;
  const Release release = parse_release(text);
  CHECK(release.tag == "release-ppc-2026");
  CHECK(release.commit == "0123456789abcdef");
}

TEST_CASE("a damaged RELEASE is refused with the line that is wrong, and how to get it back", "[grading]") {
  const auto [text, message] = GENERATE_COPY(table<std::string, std::string>({
      {"", "has no line \"release: ...\""},
      {"commit: " + kHash + "\n", "has no line \"release: ...\""},
      {"release: release-a\n", "has no line \"commit: ...\""},
      {"Release: release-a\ncommit: " + kHash + "\n", "has no line \"release: ...\""},
      {"release: release-a\nrelease: release-b\ncommit: " + kHash + "\n", "more than one line \"release: ...\""},
      {"release:\ncommit: " + kHash + "\n", "says \"release: \""},
      {"release: ppc-2026\ncommit: " + kHash + "\n",
       "\"release: ppc-2026\", which is not a word that begins with release-"},
      {"release: release-\ncommit: " + kHash + "\n", "which is not a word that begins with release-"},
      {"release: release-a b\ncommit: " + kHash + "\n", "which is not a word that begins with release-"},
      {"release: release-a\ncommit: main\n", "\"commit: main\", which is not a commit's hash"},
      {"release: release-a\ncommit: 012345\n", "which is not a commit's hash"},
      {"release: release-a\ncommit: " + kHash + kHash + "\n", "which is not a commit's hash"},
  }));
  INFO(text);
  CHECK_THROWS_WITH(parse_release(text), ContainsSubstring(message));
  CHECK_THROWS_WITH(parse_release(text), ContainsSubstring("git checkout -- RELEASE"));
  CHECK_THROWS_AS(parse_release(text), FormatError);
}

TEST_CASE("without RELEASE only tags that begin with release- count", "[grading]") {
  const test::TemporaryFolder folder;
  make_repository(folder, {"release-2027-spring"});
  git(folder, {"commit", "--quiet", "--allow-empty", "--message", "a student's"});
  git(folder, {"tag", "my-first-version"});
  CHECK(release_of(folder.path()).tag == "release-2027-spring");
  CHECK(release_of(folder.path()).commit.size() == 40);
  git(folder, {"tag", "release-2027-spring.1"});
  CHECK(release_of(folder.path()).tag == "release-2027-spring.1");
}

TEST_CASE("what git warns of is not taken for a release", "[grading]") {
  const test::TemporaryFolder tagged, plain;
  make_repository(tagged, {"release-2027-spring"});
  make_repository(plain, {});
  const Release quiet = release_of(tagged.path());
  const test::TracedGit traced;
  CHECK(release_of(tagged.path()).tag == "release-2027-spring");
  CHECK(release_of(tagged.path()).commit == quiet.commit);
  CHECK(release_of(plain.path()).tag == "untagged");
}

TEST_CASE("a tree without a release's tag, and one without git, say so", "[grading]") {
  const test::TemporaryFolder tagged, plain;
  make_repository(tagged, {"v1.0", "prerelease-1"});
  CHECK(release_of(tagged.path()).tag == "untagged");
  CHECK(release_of(plain.path()).tag == "untagged");
  CHECK(release_of(plain.path()).commit == "unknown");
}

TEST_CASE("RELEASE counts before git's tags", "[grading]") {
  const test::TemporaryFolder folder;
  make_repository(folder, {"release-mine"});
  write_file(folder / "RELEASE", "class: a\nrelease: release-a\ncommit: " + kHash + "\n");
  CHECK(release_of(folder.path()).tag == "release-a");
  CHECK(release_of(folder.path()).commit == kHash);
  write_file(folder / "RELEASE", "");
  CHECK_THROWS_AS(release_of(folder.path()), FormatError);
}

}  // namespace lockstep::grading

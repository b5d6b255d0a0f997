// A release, a student's clone of it with work in it, and corrections during the term.
#include "release/repository.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "release/release_check.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "support/traced_git.hpp"

using namespace lockstep;
using namespace lockstep::release;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

test::Finished run_git(const fs::path& folder, const std::vector<std::string>& words) {
  std::vector<std::string> command = {
      "git", "-C", folder.string(), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"};
  command.insert(command.end(), words.begin(), words.end());
  return test::run_program(command, {{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"}});
}

std::string git_output(const fs::path& folder, const std::vector<std::string>& words) {
  const test::Finished done = run_git(folder, words);
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 0);
  return done.out;
}

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_file(file, text);
}

// A lecturer's release, and everything around it.
class Term {
 public:
  Term() {
    if (test::run_program({"git", "--version"}).exit_code != 0) test::skip("git is not installed");
    note_.key = key_of(read_or_make_secret(secret()), note_.name, note_.commit);
    write_first_state(release());
    commit_release(release(), note_);
  }

  [[nodiscard]] fs::path release() const { return folder_.path() / "release"; }
  [[nodiscard]] fs::path secret() const { return folder_.path() / "release.secret"; }
  [[nodiscard]] fs::path new_state() const { return folder_.path() / "release.new"; }

  // A student's clone, with a commit in work/ and more that is not committed.
  [[nodiscard]] fs::path clone() const {
    const fs::path student = folder_.path() / "student";
    git_output(folder_.path(), {"clone", "--quiet", release().string(), student.string()});
    put(student / "work/02.1_reduce_scatter/reduce_scatter.cpp", "// mine\n");
    put(student / "build/cpu/object.o", "built");
    git_output(student, {"add", "work"});
    git_output(student, {"commit", "--quiet", "--message", "my work"});
    put(student / "work/02.1_reduce_scatter/reduce_scatter.cpp", "// mine, and better\n");
    return student;
  }

  // A state with one file changed, one new, one gone.
  ReleaseNote correct() {
    ReleaseNote note = require_correctable(release(), secret());
    ++note.correction;
    note.key = key_of(read_or_make_secret(secret()), note.name, note.commit);
    fs::remove_all(new_state());
    write_first_state(new_state());
    put(new_state() / "docs/lesson.md", concat("corrected ", note.correction, "\n"));
    put(new_state() / "prebuilt/objects/new.o", "object");
    fs::remove(new_state() / "docs/wrong.md");
    put(new_state() / "RELEASE", to_text(note));
    commit_correction(release(), new_state(), note);
    return note;
  }

  void write_first_state(const fs::path& folder) const {
    put(folder / ".gitignore", "/build/\n*.o\n");
    put(folder / "docs/lesson.md", "wrong\n");
    put(folder / "docs/wrong.md", "not for students\n");
    put(folder / "prebuilt/objects/old.o", "object");
    put(folder / "RELEASE", to_text(note_));
  }

 private:
  test::TemporaryFolder folder_;
  ReleaseNote note_{
      .name = "ppc-2026", .commit = kCommit, .date = "2026-10-01", .system = "debian 12 x86_64", .key = ""};
};

}  // namespace

TEST_CASE("RELEASE comes back as it was written, with the number of its correction", "[release]") {
  ReleaseNote note{
      .name = "ppc-2026.1", .commit = kCommit, .date = "d", .system = "s", .key = "k", .exercises = "00 01"};
  for (const int correction : {0, 1, 12}) {
    note.correction = correction;
    const ReleaseNote back = parse_release_note(to_text(note));
    CHECK(back.tag() == note.tag());
    CHECK(back.name == note.name);
    CHECK(back.exercises == "00 01");
    CHECK(back.correction == correction);
  }
  for (const char* text : {"", "class: a\n", "class: a\nrelease: release-b\ncommit: c\nexercises: all\nkey: k\n",
                           "class: a\nrelease: release-a.x\ncommit: c\nexercises: all\nkey: k\n",
                           "class: a\nrelease: release-a.0\ncommit: c\nexercises: all\nkey: k\n"})
    CHECK_THROWS_AS(parse_release_note(text), UsageError);
}

TEST_CASE("students pull a correction into a copy with their work in it", "[release]") {
  Term term;
  const fs::path student = term.clone();
  CHECK(term.correct().tag() == "release-ppc-2026.1");
  CHECK(git_output(term.release(), {"status", "--porcelain"}).empty());
  CHECK(git_output(term.release(), {"rev-list", "--count", "HEAD"}) == "2\n");
  CHECK(git_output(term.release(), {"tag"}) == "release-ppc-2026\nrelease-ppc-2026.1\n");
  CHECK(!fs::exists(term.release() / "docs/wrong.md"));

  const test::Finished pulled = run_git(student, {"pull", "--no-rebase", "--no-edit"});
  INFO(pulled.out << pulled.err);
  REQUIRE(pulled.exit_code == 0);
  CHECK(read_file(student / "docs/lesson.md") == "corrected 1\n");
  CHECK(read_file(student / "prebuilt/objects/new.o") == "object");
  CHECK(!fs::exists(student / "docs/wrong.md"));
  CHECK(read_file(student / "work/02.1_reduce_scatter/reduce_scatter.cpp") == "// mine, and better\n");
  CHECK(fs::exists(student / "build/cpu/object.o"));
  CHECK(parse_release_note(read_file(student / "RELEASE")).tag() == "release-ppc-2026.1");
  CHECK(git_output(student, {"status", "--porcelain"}) == " M work/02.1_reduce_scatter/reduce_scatter.cpp\n");

  CHECK(term.correct().tag() == "release-ppc-2026.2");
  CHECK(check_release(term.release(), Answers(), {}) == std::vector<std::string>{});
  git_output(term.release(), {"commit", "--quiet", "--allow-empty", "--message", "more"});
  CHECK(check_release(term.release(), Answers(), {}) ==
        std::vector<std::string>{"its git history is not one commit and 2 corrections"});
}

TEST_CASE("what git warns of is neither a change nor a commit", "[release]") {
  const test::TracedGit traced;
  Term term;
  CHECK_NOTHROW(require_committed(term.release()));
  CHECK(term.correct().tag() == "release-ppc-2026.1");
  CHECK(check_release(term.release(), Answers(), {}) == std::vector<std::string>{});
}

TEST_CASE("only a release of this class, as it was made, is corrected", "[release]") {
  Term term;
  const auto require_refused = [&](const fs::path& repository, const std::string& why) {
    CHECK_THROWS_WITH(require_correctable(repository, term.secret()), ContainsSubstring(why));
    CHECK_THROWS_AS(require_correctable(repository, term.secret()), UsageError);
  };
  require_refused(term.secret().parent_path(), "is not a release");
  require_refused(term.clone(), "has changes that are not committed");
  git_output(term.secret().parent_path() / "student", {"checkout", "--quiet", "--", "."});
  require_refused(term.secret().parent_path() / "student", "it is a student's copy");

  const fs::path other_secret = term.secret().parent_path() / "other.secret";
  CHECK_THROWS_WITH(require_correctable(term.release(), other_secret), ContainsSubstring("--secret"));
  CHECK(!fs::exists(other_secret));
  write_file(other_secret, "another\n");
  CHECK_THROWS_WITH(require_correctable(term.release(), other_secret),
                    ContainsSubstring("a release of something else"));

  put(term.release() / "docs/lesson.md", "changed by hand\n");
  require_refused(term.release(), "has changes that are not committed");
  git_output(term.release(), {"commit", "--quiet", "--all", "--message", "by hand"});
  require_refused(term.release(), "has other commits");
}

TEST_CASE("a release is made of what is committed, and the lecturer's own work/ does not matter", "[release]") {
  const Term term;
  put(term.release() / "work/02.1_reduce_scatter/reduce_scatter.cpp", "// tried it\n");
  CHECK_NOTHROW(require_committed(term.release()));
  put(term.release() / "docs/lesson.md", "changed by hand\n");
  CHECK_THROWS_WITH(require_committed(term.release()), ContainsSubstring("not committed: docs/lesson.md. Commit"));
  put(term.release() / "docs/new.md", "new\n");
  CHECK_THROWS_WITH(require_committed(term.release()), ContainsSubstring("docs/lesson.md and 1 more (git status)"));
}

TEST_CASE("files with any names are released, and named as they are", "[release]") {
  const Term term;
  const std::string name = "docs/\xc3\xbc \"bung\".md";
  put(term.release() / name, "text\n");
  CHECK_THROWS_WITH(require_committed(term.release()), ContainsSubstring("\xc3\xbc"));
  git_output(term.release(), {"add", "--all"});
  git_output(term.release(), {"commit", "--quiet", "--message", "a page"});
  const std::vector<std::string> files = tracked_files(term.release());
  CHECK(std::ranges::find(files, name) != files.end());
  CHECK(std::ranges::find(files, "docs/lesson.md") != files.end());
  CHECK(std::ranges::find(files, "") == files.end());
}

TEST_CASE("a correction that changes nothing is refused, and leaves the release as it was", "[release]") {
  const Term term;
  ReleaseNote note = require_correctable(term.release(), term.secret());
  ++note.correction;
  term.write_first_state(term.new_state());
  put(term.new_state() / "RELEASE", to_text(note));
  CHECK_THROWS_WITH(commit_correction(term.release(), term.new_state(), note),
                    ContainsSubstring("nothing has changed"));
  CHECK(git_output(term.release(), {"tag"}) == "release-ppc-2026\n");
  CHECK(git_output(term.release(), {"rev-list", "--count", "HEAD"}) == "1\n");
  CHECK(git_output(term.release(), {"status", "--porcelain"}).empty());
}

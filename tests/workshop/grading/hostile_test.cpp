// More than thirty submissions that attack the grader, graded twice by the instructors' program.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/unique_fd.hpp"
#include "grading/manifest.hpp"
#include "grading/student_files.hpp"
#include "grading_runs.hpp"
#include "hostile_class.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecret = "CANARY-5d1f7c";

using Contents = std::map<std::string, std::string>;

// Contents of all files below a folder, by path.
Contents contents_of(const fs::path& folder) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    contents[entry.path().lexically_relative(folder)] = entry.is_regular_file() ? read_file(entry.path()) : "";
  return contents;
}

// The part of the results that must not depend on when and how fast a class was graded.
Contents without_times(const Contents& results) {
  Contents lasting;
  for (const auto& [name, text] : results) {
    if (name.ends_with("feedback.md") || name == "grades.csv") lasting[name] = text;
    if (!name.ends_with("results.json")) continue;
    nlohmann::json json = parse_json(text);
    json.erase("execution_time");
    lasting[name] = json.dump();
  }
  return lasting;
}

std::string first_control_character(const std::string& text) {
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if ((code < ' ' && letter != '\n' && letter != '\t') || code == 127)
      return concat("character ", static_cast<int>(code));
  }
  return text.find("\xe2\x80\xae") == std::string::npos ? "" : "a reversal of writing";
}

// An instructor's files next to those of the class: some readable, some writable, all off limits to submissions.
class Surroundings {
 public:
  explicit Surroundings(const fs::path& folder) : folder_(folder) {
    fs::create_directories(folder);
    for (const char* name : {"canary.txt", "key", "grades"}) write_file(folder / name, concat(kSecret, "\n"));
    fs::permissions(folder / "key", fs::perms::owner_read | fs::perms::owner_write);
    // Left open like a shell's descriptors: child processes inherit them.
    read_end_.reset(::open(canary().c_str(), O_RDONLY));
    write_end_.reset(::open((folder / "grades").c_str(), O_RDWR));
    before_ = contents_of(folder);
  }

  [[nodiscard]] fs::path canary() const { return folder_ / "canary.txt"; }
  [[nodiscard]] fs::path key() const { return folder_ / "key"; }
  [[nodiscard]] bool is_unchanged() const { return contents_of(folder_) == before_; }

 private:
  fs::path folder_;
  UniqueFd read_end_, write_end_;
  Contents before_;
};

void check_results(const Contents& results) {
  for (const auto& [name, text] : results) {
    INFO(name);
    CHECK(text.find(kSecret) == std::string::npos);
    CHECK(first_control_character(text).empty());
    CHECK(text.find("SOLUTION(02.1)") == std::string::npos);
    CHECK(text.find("found a file") == std::string::npos);
    if (name.ends_with(".html")) CHECK(text.find("<script") == std::string::npos);
    if (name.ends_with(".csv")) CHECK(text.find(';') == std::string::npos);
  }
}

void check_permissions(const fs::path& out) {
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    INFO(entry.path());
    CHECK((entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
  }
}

// The submissions that are graded a second time: the honest one and every third archive; all if LOCKSTEP_GRADE_TWICE is
// set.
void choose_for_second_grading(const fs::path& in, const fs::path& again) {
  std::vector<fs::path> archives;
  for (const auto& entry : fs::directory_iterator(in))
    if (entry.is_regular_file()) archives.push_back(entry.path());
  std::ranges::sort(archives);
  fs::create_directories(again);
  for (std::size_t i = 0; i < archives.size(); ++i)
    if (i % 3 == 0 || archives[i].stem() == "honest" || environment::get("LOCKSTEP_GRADE_TWICE"))
      fs::copy_file(archives[i], again / archives[i].filename());
}

// Grades some submissions again in a copy of the results, where every lasting byte about a student must stay the same.
// @param before  By path in the folder `out`.
void require_equal_results_again(const fs::path& folder, const std::vector<std::string>& words,
                                 const Contents& before) {
  const fs::path out = folder / "out_again";
  choose_for_second_grading(folder / "in", folder / "in_again");
  fs::copy(folder / "out", out, fs::copy_options::recursive);
  std::vector<std::string> again = words;
  again.emplace_back("--again");
  const test::Finished second = grade_folder(folder / "in_again", out, again, {{"LOCKSTEP_CANARY", kSecret}});
  INFO(second.out << second.err);
  REQUIRE(second.exit_code == 0);
  CHECK(second.out.find("graded already") == std::string::npos);
  std::ptrdiff_t compared = 0;
  for (const auto& [name, text] : without_times(contents_of(out))) {
    if (!name.starts_with("students/")) continue;
    INFO(name);
    REQUIRE(before.contains(name));
    CHECK(before.at(name) == text);
    ++compared;
  }
  CHECK(compared ==
        std::ranges::count_if(before, [](const auto& file) { return file.first.starts_with("students/"); }));
}

void grade_twice(Attack attack) {
  require_complete_sandbox();
  const test::TemporaryFolder folder;
  const Surroundings around(folder.path() / "instructor");
  const auto expected =
      make_hostile_class(course_root(), folder.path() / "in", release_of(course_root()).tag, around.canary(), attack);
  const Contents handed_in = contents_of(folder.path() / "in");
  const fs::path out = folder.path() / "out";
  const std::vector<std::string> words = {"--only", "02.1", "--secret-seed-file", around.key()};
  const test::Finished first = grade_folder(folder.path() / "in", out, words, {{"LOCKSTEP_CANARY", kSecret}});
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  for (const Expected& one : expected) {
    const auto grade = read_student_grade(out / "students" / one.key);
    INFO(one.key);
    REQUIRE(grade);
    check_grade(*grade, one);
  }
  const Contents results = contents_of(out);
  check_results(results);
  check_permissions(out);
  CHECK(first_control_character(first.out).empty());
  CHECK(around.is_unchanged());
  CHECK(contents_of(folder.path() / "in") == handed_in);
  CHECK(processes_of_submissions() == 0);

  require_equal_results_again(folder.path(), words, without_times(results));
}

}  // namespace

TEST_CASE("nothing that a submission's ranks say is read, written or decided by", "[grading]") {
  grade_twice(Attack::kAnswers);
}

TEST_CASE("a submission's ranks read, write, start and use up nothing but their own", "[grading]") {
  grade_twice(Attack::kDeeds);
}

TEST_CASE("a submission's sources, archives and names reach nothing but themselves", "[grading]") {
  grade_twice(Attack::kFiles);
}

}  // namespace lockstep::grading

// Cases for detectives: patches, the project's cases, and the command that shows and judges them.
#include "exercise/detective_case.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using namespace lockstep::exercise;

namespace {

const fs::path kRoot = LOCKSTEP_PROJECT_ROOT;

const std::string kPatch =
    "Why.\n--- a/x.txt\n+++ b/x.txt\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n@@ -9 +9 @@\n-nine\n+\n";

/// A project of links, so that commands do not write to the source tree.
struct ProjectCopy {
  ProjectCopy() {
    for (const char* name : {"chapters", "exercises", "CMakePresets.json"})
      fs::create_symlink(kRoot / name, folder / name);
  }
  [[nodiscard]] test::Finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), test::built_program("lockstep_exercises"));
    return test::run_program(words, {{"LOCKSTEP_ROOT", folder.path().string()}});
  }
  test::TemporaryFolder folder;
};

std::vector<std::string> answer_of(const DetectiveCase& each, const std::string& cause, std::size_t line) {
  return {"case", each.id, "--answer", cause, "--line", std::to_string(line)};
}

}  // namespace

TEST_CASE("a patch finds its lines wherever they have moved, and changes nothing else", "[exercise]") {
  const Patch patch = parse_patch(kPatch);
  CHECK(patch.head == "Why.\n");
  CHECK(patch.file == "x.txt");
  CHECK(apply_patch(patch, "zero\none\ntwo\nthree\nfour\nnine\nten\n") == "zero\none\ntwo\n3\nfour\n\nten\n");
}

TEST_CASE("a patch that does not fit, or fits twice, is refused", "[exercise]") {
  const Patch patch = parse_patch(kPatch);
  CHECK_THROWS_AS(apply_patch(patch, "two\nthree\n4\nnine\n"), FormatError);
  CHECK_THROWS_AS(apply_patch(patch, "two\nthree\nfour\n9\n"), FormatError);
  CHECK_THROWS_AS(apply_patch(patch, "two\nthree\nfour\nnine\nnine\n"), FormatError);
  CHECK_THROWS_AS(parse_patch("only words\n"), FormatError);
  CHECK_THROWS_AS(parse_patch(kPatch + "--- a/y.txt\n+++ b/y.txt\n"), FormatError);
  CHECK_THROWS_AS(parse_patch("--- a/x.txt\n+++ b/x.txt\nno hunk\n"), FormatError);
}

TEST_CASE("every case can be made, has the right program's line numbers, and gives nothing away", "[exercise]") {
  const std::vector<DetectiveCase> cases = read_cases(kRoot);
  CHECK_FALSE(cases.empty());
  for (const DetectiveCase& each : cases) {
    INFO(each.id);
    const std::string right = read_file(kRoot / each.file), wrong = source_of(kRoot, each);
    CHECK(wrong != right);
    CHECK(std::ranges::count(wrong, '\n') == std::ranges::count(right, '\n'));
    CHECK(wrong.find("case_") == std::string::npos);
    CHECK((each.causes.size() >= 8 && each.causes.size() <= 10));
    CHECK(std::ranges::is_sorted(each.causes, {}, &Cause::name));  // so that their order reveals nothing
    const Spoiler spoiler = read_spoiler(kRoot, each);
    const std::string told = each.title + each.story.front() + each.story.back() + each.evidence.front();
    CHECK(told.find(spoiler.cause) == std::string::npos);
  }
}

TEST_CASE("of a case's answers only the right one is accepted", "[exercise]") {
  for (const DetectiveCase& each : read_cases(kRoot)) {
    INFO(each.id);
    const Spoiler spoiler = read_spoiler(kRoot, each);
    CHECK(std::ranges::count(each.causes, spoiler.cause, &Cause::name) == 1);
    for (const std::size_t line : spoiler.lines) {
      for (const Cause& cause : each.causes)
        CHECK((judge_answer(spoiler, {cause.name, line}) == CaseVerdict::kSolved) == (cause.name == spoiler.cause));
      CHECK(judge_answer(spoiler, {spoiler.cause, line + kLineTolerance}) == CaseVerdict::kSolved);
    }
    const std::size_t last = std::ranges::max(spoiler.lines), first = std::ranges::min(spoiler.lines);
    CHECK(judge_answer(spoiler, {spoiler.cause, last + kLineTolerance + 1}) == CaseVerdict::kOtherLine);
    CHECK(judge_answer(spoiler, {spoiler.cause, first - kLineTolerance - 1}) == CaseVerdict::kOtherLine);
  }
}

TEST_CASE("each wrong answer brings one more piece of evidence, the right one the explanation", "[exercise]") {
  const ProjectCopy project;
  const DetectiveCase each = read_cases(kRoot).front();
  const Spoiler spoiler = read_spoiler(kRoot, each);
  const std::size_t line = spoiler.lines.front();
  const std::string& other = each.causes.front().name == spoiler.cause ? each.causes[1].name : each.causes[0].name;
  const auto count = [](const std::string& text) {
    int pieces = 0;
    for (std::size_t at = 0; (at = text.find("more evidence:", at)) != std::string::npos; ++at) ++pieces;
    return pieces;
  };

  const test::Finished first = project.run(answer_of(each, other, line));
  CHECK(first.exit_code == 1);
  CHECK(count(first.out) == 1);
  CHECK(first.out.find(spoiler.cause) == std::string::npos);
  const test::Finished second = project.run(answer_of(each, spoiler.cause, line + 30));
  CHECK(second.exit_code == 1);
  CHECK(count(second.out) == 2);
  CHECK_THAT(project.run({"case"}).out, ContainsSubstring("2 wrong answers"));

  const test::Finished right = project.run(answer_of(each, spoiler.cause, line));
  CHECK(right.exit_code == 0);
  CHECK_THAT(right.out, ContainsSubstring(spoiler.explanation));
  CHECK_THAT(project.run({"case"}).out, ContainsSubstring(each.title) && ContainsSubstring("solved"));
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring(each.title) && ContainsSubstring("solved"));
}

TEST_CASE("a case that does not exist, and half an answer, are said to be so", "[exercise]") {
  const ProjectCopy project;
  const DetectiveCase each = read_cases(kRoot).front();
  CHECK_THAT(project.run({"case", "99.Z"}).err, ContainsSubstring("there is no case 99.Z"));
  CHECK_THAT(project.run({"case", "99"}).err, ContainsSubstring("chapter 99 has no cases"));
  CHECK_THAT(project.run({"case", each.id, "--line", "3"}).err, ContainsSubstring("Add --answer CAUSE"));
  CHECK_THAT(project.run({"case", each.id, "--answer", "moonlight", "--line", "3"}).err,
             ContainsSubstring("moonlight is none of the causes"));
  CHECK_THAT(project.run({"case", each.id, "--answer", each.causes.front().name}).err,
             ContainsSubstring("Add --line N"));
}

#include "synthetic_class.hpp"

#include <fstream>
#include <regex>

#include "base/error.hpp"
#include "class_maker.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

// Correct ones, in every form in which they may arrive.
void add_honest(const ClassMaker& maker, std::vector<Expected>& expected) {
  Files right = maker.all_from("solutions");
  right[maker.target()] = maker.submission("is_right");
  maker.zip("right", right);
  expected.push_back({"right", "graded", "passed", "", 10, 10});
  maker.folder("right_in_a_folder", right);
  expected.push_back({"right_in_a_folder", "graded", "passed", "", 10, 10, "no manifest.json"});
  std::vector<RawEntry> entries = {{"repository-main/manifest.json", maker.manifest_of("packed", right), ""}};
  for (const auto& [name, text] : right) entries.push_back({"repository-main/" + name, text, ""});
  write_raw_archive(maker.path("right_packed.tar"), entries, ArchiveKind::kTar);
  expected.push_back({"right_packed", "graded", "passed", "", 10, 10});
  maker.zip("templates", maker.all_from("exercises"));
  expected.push_back({"templates", "graded", "TODO", "", 0, 0});
  maker.zip("one_exercise", maker.only(right.at(maker.target())));
  expected.push_back({"one_exercise", "graded", "passed", "", 10, 10});
}

// Files copied from our solutions.
void add_references(const ClassMaker& maker, std::vector<Expected>& expected) {
  const std::string solution = maker.all_from("solutions").at(maker.target());
  maker.zip("reference", maker.only(solution));
  expected.push_back({"reference", "graded", "REFERENCE", "", 0, 0});
  maker.zip("reference_without_marks", maker.only(std::regex_replace(solution, std::regex("//[^\n]*"), "")));
  expected.push_back({"reference_without_marks", "graded", "REFERENCE", "", 0, 0});
}

void add_mistake(const ClassMaker& maker, std::vector<Expected>& expected, const std::string& name, double most = 9.5) {
  maker.zip("mistake_" + name, maker.only(maker.mistake(name)));
  expected.push_back({"mistake_" + name, "graded", "WRONG|HANG|CRASH", name, 0, most});
}

void add_attack(const ClassMaker& maker, std::vector<Expected>& expected, const std::string& name,
                const std::string& verdict, double most = 0) {
  maker.zip(name, maker.only(maker.submission(name)));
  expected.push_back({name, "graded", verdict, "", 0, most});
}

// Invalid archives.
void add_archives(const ClassMaker& maker, std::vector<Expected>& expected) {
  const std::string right = maker.submission("is_right");
  const std::string manifest = maker.manifest_of("x", {});
  write_raw_archive(
      maker.path("symbolic_link.zip"),
      {{kManifestName, manifest, ""}, {maker.target(), "", "../../../solutions/x.cpp"}, {"work/b", "", "/etc"}},
      ArchiveKind::kZip);
  expected.push_back({"symbolic_link", "graded", "missing", "", 0, 0, "no regular file"});
  write_raw_archive(maker.path("path_above.zip"),
                    {{kManifestName, manifest, ""},
                     {"../escaped.txt", "x", ""},
                     {"/tmp/escaped.txt", "x", ""},
                     {"work/../../../../tmp/escaped.txt", "x", ""},
                     {maker.target(), right, ""}},
                    ArchiveKind::kZip);
  expected.push_back({"path_above", "graded", "passed", "", 10, 10, "a path outside of the archive"});
  std::ofstream(maker.path("no_archive.zip")) << "PK\x03\x04 and then something else";
  expected.push_back({"no_archive", "refused", "", "", 0, 0, "no_archive.zip"});
}

}  // namespace

std::vector<Expected> make_class(const fs::path& root, const fs::path& folder, const std::string& release,
                                 ClassSize size) {
  const ClassMaker maker(root, folder, release);
  std::vector<Expected> expected;
  add_honest(maker, expected);
  add_references(maker, expected);
  add_archives(maker, expected);
  add_mistake(maker, expected, "divides_every_step");
  add_mistake(maker, expected, "sends_first", 5);  // a ring that deadlocks is not a ring
  add_attack(maker, expected, "does_nothing", "WRONG");
  add_attack(maker, expected, "exits_with_0", "CRASH");
  add_attack(maker, expected, "has_its_own_main", "BUILD|CRASH|WRONG|HANG", 1);
  add_attack(maker, expected, "does_not_compile", "BUILD");
  add_attack(maker, expected, "includes_the_solution", "BUILD");
  add_attack(maker, expected, "reads_around", "CRASH");
  add_attack(maker, expected, "writes_its_result", "CRASH");
  add_attack(maker, expected, "calls_home", "CRASH");
  add_attack(maker, expected, "fills_the_disk", "CRASH");
  if (size == ClassSize::kQuick) return expected;
  for (const char* name :
       {"sends_the_same_chunk", "replaces_instead_of_adds", "one_step_too_few", "equal_chunks", "wrong_way_round"})
    add_mistake(maker, expected, name);
  add_attack(maker, expected, "hangs", "HANG|CRASH", 1);
  add_attack(maker, expected, "loops", "LOOP");
  add_attack(maker, expected, "forks", "LOOP|SLOW|CRASH|HANG|WRONG", 1);
  add_attack(maker, expected, "eats_memory", "CRASH|LOOP|SLOW");
  add_attack(maker, expected, "takes_small_pieces", "CRASH|HANG|LOOP|SLOW");
  add_attack(maker, expected, "is_a_compile_bomb", "BUILD");
  add_attack(maker, expected, "kills_everybody", "HANG|CRASH|LOOP");
  add_attack(maker, expected, "floods_its_output", "LOOP|SLOW|CRASH|HANG");
  add_attack(maker, expected, "answers_nonsense", "CRASH|HANG");
  return expected;
}

}  // namespace lockstep::grading

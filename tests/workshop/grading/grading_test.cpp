// The parts of grading: archives, manifests, labs, points, and the files for students and instructors.
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"
#include "grading/class_report.hpp"
#include "grading/given_checks.hpp"
#include "grading/judging.hpp"
#include "grading/labs.hpp"
#include "grading/manifest.hpp"
#include "grading/sandbox_user.hpp"
#include "grading/secret_number.hpp"
#include "grading/student_files.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

const fs::path kRoot = LOCKSTEP_PROJECT_ROOT;

bool is_work(const std::string& path) { return path.starts_with("work/"); }

nlohmann::json check(const std::string& name, const std::string& verdict, double points = 1) {
  return {{"name", name},           {"verdict", verdict}, {"points", points},
          {"seconds", 0.1},         {"full_only", false}, {"summary", "rank 1: 42"},
          {"evidence", {"a line"}}, {"next", "try"},      {"killed", false}};
}

nlohmann::json report(std::vector<nlohmann::json> checks) {
  return {{"checks", std::move(checks)}, {"likely", nlohmann::json::array()}};
}

exercise::Exercise ten_points() {
  exercise::Exercise one;
  one.id = "02.1";
  one.title = "A <title>";
  one.points = 10;
  return one;
}

}  // namespace

TEST_CASE("a zip holds what was put into it, and is the same for the same files", "[grading]") {
  const test::TemporaryFolder folder;
  const Files files = {{"work/a/x.cpp", "one"}, {"work/b/y.cpp", std::string(100'000, 'y')}, {"manifest.json", "{}"}};
  write_zip(folder.path() / "a.zip", files);
  write_zip(folder.path() / "b.zip", files);
  CHECK(read_file(folder.path() / "a.zip") == read_file(folder.path() / "b.zip"));
  const Submission found = read_submission(folder.path() / "a.zip", is_work);
  CHECK(found.files == Files{{"work/a/x.cpp", "one"}, {"work/b/y.cpp", std::string(100'000, 'y')}});
  CHECK(found.refusals.empty());
}

TEST_CASE("a zip that cannot be written to its end leaves the one before it as it was", "[grading]") {
  const test::TemporaryFolder folder;
  const fs::path zip = folder.path() / "a.zip", unfinished = folder.path() / "a.zip.new";
  write_zip(zip, {{"work/x", "first"}});
  fs::create_symlink("/dev/full", unfinished);
  CHECK_THROWS_WITH(write_zip(zip, {{"work/x", std::string(100'000, 'y')}}),
                    Catch::Matchers::ContainsSubstring("a.zip: "));
  CHECK(read_submission(zip, is_work).files == Files{{"work/x", "first"}});
  CHECK(!fs::exists(fs::symlink_status(unfinished)));
  write_zip(zip, {{"work/x", "second"}});
  CHECK(read_submission(zip, is_work).files == Files{{"work/x", "second"}});
  fs::create_symlink("a.zip", folder.path() / "link.zip");
  write_zip(folder.path() / "link.zip", {{"work/x", "third"}});
  CHECK(fs::is_symlink(folder.path() / "link.zip"));
  CHECK(read_submission(zip, is_work).files == Files{{"work/x", "third"}});
}

TEST_CASE("what is too large, a link or outside is refused, in folders as in archives", "[grading]") {
  const test::TemporaryFolder folder;
  write_zip(folder.path() / "a.zip", {{"work/x", std::string(5000, 'x')}, {"../work/y", "y"}, {"/z/work/z", "z"}});
  const Submission zipped = read_submission(folder.path() / "a.zip", is_work, {.bytes_per_file = 4000});
  CHECK(zipped.files.empty());
  CHECK(zipped.refusals.size() == 3);

  fs::create_directories(folder.path() / "s" / "work");
  fs::create_symlink("/etc/passwd", folder.path() / "s" / "work" / "x");
  fs::create_directory_symlink("/etc", folder.path() / "s" / "work" / "y");
  write_file(folder.path() / "s" / "work" / "z", "z");
  const Submission from_folder = read_submission(folder.path() / "s", is_work);
  CHECK(from_folder.files == Files{{"work/z", "z"}});
  CHECK(from_folder.refusals.size() == 2);
}

TEST_CASE("an archive that unpacks to too much is refused, however that is spread over its entries", "[grading]") {
  const test::TemporaryFolder folder;
  Files many = {{"work/x", "x"}};
  for (int i = 0; i < 10; ++i) many[concat("other/", i)] = std::string(1000, 'x');
  write_zip(folder.path() / "many.zip", many);
  write_zip(folder.path() / "one.zip", {{"work/x", "x"}, {"zeros", std::string(5000, '\0')}});
  const ArchiveLimits limits{.bytes_per_file = 100, .bytes_per_entry = 4000, .bytes_in_all = 9000};
  for (const char* name : {"many.zip", "one.zip"}) {
    CHECK_THROWS_AS(read_submission(folder.path() / name, is_work, limits), FormatError);
    CHECK(read_submission(folder.path() / name, is_work).files == Files{{"work/x", "x"}});
  }
}

TEST_CASE("of a clone of the whole course no file is left out, and what has too many is refused", "[grading]") {
  const test::TemporaryFolder folder;
  Files clone = {{"clone/work/x", "x"}};
  for (int i = 0; i < 4500; ++i) clone[concat("clone/chapters/", i)] = "y";
  write_zip(folder.path() / "clone.zip", clone);
  for (const auto& [name, text] : clone) {
    fs::create_directories((folder.path() / name).parent_path());
    write_file(folder.path() / name, text);
  }
  for (const char* name : {"clone.zip", "clone"}) {
    INFO(name);
    const Submission found = read_submission(folder.path() / name, is_work);
    CHECK(found.files == Files{{"work/x", "x"}});
    CHECK(found.refusals.empty());
    CHECK_THROWS_AS(read_submission(folder.path() / name, is_work, {.files = 4000}), FormatError);
  }
}

TEST_CASE("the first files that nobody asked for are known by name", "[grading]") {
  const test::TemporaryFolder folder;
  Files files = {{"work/x", "x"}, {"__MACOSX/work/._x", "x"}, {"._lab.rar", "x"}, {"lab.rar", "x"}, {"a\x1b[2J", "x"}};
  for (char letter = 'm'; letter < 'z'; ++letter) files[concat("src/", letter)] = "x";
  write_zip(folder.path() / "a.zip", files);
  const std::set<std::string> first = {"a?[2J", "lab.rar", "src/m", "src/n", "src/o"};
  CHECK(read_submission(folder.path() / "a.zip", is_work).others == first);

  fs::create_directories(folder.path() / "s" / "work");
  write_file(folder.path() / "s" / "work" / "x", "x");
  write_file(folder.path() / "s" / "lab.rar", "x");
  CHECK(read_submission(folder.path() / "s", is_work).others == std::set<std::string>{"lab.rar"});
}

TEST_CASE("a manifest comes back as it was written, and another version is refused", "[grading]") {
  const Manifest manifest{"Ada \"L\"", {"v1", "abc"}, {"02.1", "02.2"}, {"02.2"}, {{"work/x", sha256_hex("x")}}};
  const Manifest back = parse_manifest(to_text(manifest));
  CHECK(back.student == manifest.student);
  CHECK(back.release.tag == "v1");
  CHECK(back.exercises == manifest.exercises);
  CHECK(back.references == manifest.references);
  CHECK(back.digests == manifest.digests);
  CHECK_THROWS_AS(parse_manifest(R"({"version": 99})"), FormatError);
  CHECK_THROWS_AS(parse_manifest("[]"), FormatError);
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  CHECK_THROWS_AS(parse_manifest(concat(R"({"version": )", deep, "}")), FormatError);
  CHECK_THROWS_AS(parse_manifest(concat(R"({"version": 1, "student": )", deep, "}")), FormatError);
}

TEST_CASE("Secret numbers are those of the standard", "[grading]") {
  // RFC 4231, test case 2: 5bdcc146bf60754e...; the lowest 53 bits of these 8 bytes
  CHECK(secret_number("Jefe", "what do ya want for nothing?") == (0x5bdcc146bf60754e & ((std::uint64_t{1} << 53) - 1)));
}

TEST_CASE("the labs name exercises that exist, and their weights add up", "[grading]") {
  const auto catalogue = exercise::read_catalogue(kRoot);
  CHECK(read_labs(kRoot, catalogue).size() == 5);
  const auto first = chosen_exercises(kRoot, catalogue, 1, {});
  CHECK(first.size() >= 4);
  for (const exercise::Exercise& one : first) CHECK((one.id.starts_with("01.") || one.id.starts_with("02.")));
  CHECK(chosen_exercises(kRoot, catalogue, 0, {"2.1"}).size() == 1);
  CHECK_THROWS_AS(chosen_exercises(kRoot, catalogue, 9, {}), UsageError);
  CHECK_THROWS_WITH(chosen_exercises(kRoot, catalogue, 4, {}), ContainsSubstring("docs/labs/ says what is handed in"));
  auto with_lecturers = catalogue;
  with_lecturers.push_back(catalogue.front());
  with_lecturers.back().id = "02.50";
  CHECK(chosen_exercises(kRoot, with_lecturers, 1, {}).size() == first.size());
  CHECK(chosen_exercises(kRoot, with_lecturers, 1, {"02.50"}).size() == first.size() + 1);
}

TEST_CASE("a release with some of the exercises has labs of these", "[grading]") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder.path() / "exercises");
  fs::copy_file(kRoot / "exercises" / "labs.json", folder.path() / "exercises" / "labs.json");
  auto part = exercise::read_catalogue(kRoot);
  std::erase_if(part, [](const exercise::Exercise& one) { return one.id != "02.1"; });
  CHECK_THROWS_WITH(chosen_exercises(folder.path(), part, 1, {}), ContainsSubstring("and there is none"));
  write_file(folder.path() / "RELEASE", "release: release-2027\ncommit: 1234567\n");
  CHECK(chosen_exercises(folder.path(), part, 1, {}).size() == 1);
  CHECK_THROWS_WITH(chosen_exercises(folder.path(), part, 5, {}), ContainsSubstring("lab 5 has no exercises here"));
}

TEST_CASE("points are the share of checks that passed, of those that the template does not pass", "[grading]") {
  const auto own = report({check("a", "passed"), check("b", "WRONG", 2), check("c", "passed")});
  CHECK(grade_from(ten_points(), own, nullptr, {}).points == 5);
  CHECK(grade_from(ten_points(), own, nullptr, {"a"}).points == 3.33);
  CHECK(grade_from(ten_points(), own, nullptr, {"a", "c"}).points == 0);
  CHECK(grade_from(ten_points(), own, nullptr, {"b"}).points == 5);
}

TEST_CASE("checks weigh what exercise.json says, else what the judge says", "[grading]") {
  exercise::Exercise weighed = ten_points();
  weighed.weights = {{"b", 4}, {"c", 0}};
  const auto own = report({check("a", "passed"), check("b", "HANG"), check("c", "passed")});
  CHECK(grade_from(weighed, own, nullptr, {}).points == 2);
  CHECK(grade_from(ten_points(), own, nullptr, {}).points == 6.67);
  CHECK(grade_from(weighed, own, report({check("a", "WRONG"), check("b", "passed"), check("c", "WRONG")}), {}).points ==
        8);
}

TEST_CASE("no check of a program that was built says that grading has failed, or that it was not built", "[grading]") {
  for (const char* verdict : {"SETUP", "BUILD", "missing", "REFERENCE", "graded", ""}) {
    INFO(verdict);
    const auto grade = grade_from(ten_points(), report({check("a", verdict), check("b", "passed")}), nullptr, {});
    CHECK(grade.verdict == "CRASH");
    CHECK(grade.points == 5);
    CHECK(grade.setup.empty());
  }
}

TEST_CASE("an empty function returns nothing, or an empty value", "[grading]") {
  CHECK(
      with_empty_functions("void f(int x,\n       int y) {\n  // TODO(1.1): do it\n  lockstep::todo(\"1.1 f\");\n}\n\n"
                           "std::optional<int> g() {\n  lockstep::todo(\"1.1 g\");\n}\n\n"
                           "void A::h() {\n  lockstep::todo(\"1.1 h\");\n}\n"
                           "void* k() {\n  lockstep::todo(\"1.1 k\");\n}\n") ==
      "void f(int x,\n       int y) {\n  // TODO(1.1): do it\n  return;\n}\n\n"
      "std::optional<int> g() {\n  return {};\n}\n\n"
      "void A::h() {\n  return;\n}\n"
      "void* k() {\n  return {};\n}\n");
  CHECK(with_empty_functions("int f() {\n  return 1;\n}\n") == "int f() {\n  return 1;\n}\n");
  // Filling in empty functions must remove every call of todo() from a template.
  for (const exercise::Exercise& one : exercise::read_catalogue(kRoot)) {
    for (const std::string& file : one.files) {
      const std::string text = read_file(one.in(kRoot / "exercises") / file);
      CHECK(with_empty_functions(text).find("lockstep::todo(") == std::string::npos);
    }
  }
}

TEST_CASE("what fails with secret inputs alone is said without values", "[grading]") {
  const auto own = report({check("a", "passed"), check("b", "WRONG")});
  const auto secret = report({check("a", "HANG"), check("b", "WRONG")});
  StudentGrade grade{.key = "x", .student = "X <b>"};
  grade.exercises = {grade_from(ten_points(), own, secret, {})};
  CHECK(grade.points() == 0);
  CHECK(grade.exercises.front().checks.front().is_hidden);
  const std::string feedback = feedback_markdown(grade);
  CHECK_THAT(feedback, ContainsSubstring("HANG: a (it fails with inputs that are not shown)"));
  const nlohmann::json tests = gradescope_results(grade).at("tests");
  REQUIRE(tests.size() == 2);
  CHECK(tests[0].at("output") == "HANG: it fails with inputs that are not shown");
  CHECK(tests[0].at("max_score") == 5);
  CHECK_THAT(tests[1].at("output").get<std::string>(), ContainsSubstring("rank 1: 42"));
  CHECK_THAT(junit_xml(grade), ContainsSubstring("A &lt;title&gt;"));
}

TEST_CASE("a student's files are complete, and come back", "[grading]") {
  const test::TemporaryFolder folder;
  StudentGrade grade{.key = "x", .student = "X", .problems = {"late"}, .basis = "b"};
  grade.exercises = {grade_from(ten_points(), report({check("a", "passed"), check("b", "WRONG")}), nullptr, {}),
                     {.id = "02.2", .title = "T", .max_points = 7, .verdict = "BUILD", .compiler = "error: \x01\xff"}};
  write_student_files(folder.path() / "x", grade);
  const auto back = read_student_grade(folder.path() / "x");
  REQUIRE(back);
  CHECK(back->points() == 5);
  CHECK(back->max_points() == 17);
  CHECK(back->exercises.at(1).verdict == "BUILD");
  CHECK(parse_json(read_file(folder.path() / "x" / "results.json")).at("score") == 5);
  CHECK(!read_student_grade(folder.path() / "y"));
}

TEST_CASE("the median of a class of two is between their points", "[grading]") {
  std::vector<StudentGrade> grades = {{.key = "half", .student = "H"}, {.key = "full", .student = "F"}};
  grades[0].exercises = {{.id = "02.1", .title = "T", .points = 5, .max_points = 10, .verdict = "WRONG"}};
  grades[1].exercises = {{.id = "02.1", .title = "T", .points = 10, .max_points = 10, .verdict = "passed"}};
  const Settings settings;
  const std::vector<Protection> protections;
  CHECK_THAT(class_html({grades, settings, protections, 3}), ContainsSubstring("<b>75 %</b><span>median of points"));
}

TEST_CASE("the class's page says how many have handed in and passed each exercise", "[grading]") {
  std::vector<StudentGrade> grades = {{.key = "a", .student = "A"},
                                      {.key = "b", .student = "B"},
                                      {.key = "c", .student = "C"},
                                      {.key = "d", .student = "D", .status = "refused"}};
  grades[0].exercises = {{.id = "02.1", .title = "T", .points = 10, .max_points = 10, .verdict = "passed"}};
  grades[1].exercises = {{.id = "02.1", .title = "T", .points = 5, .max_points = 10, .verdict = "WRONG"}};
  grades[2].exercises = {{.id = "02.1", .title = "T", .max_points = 10}};
  Settings settings;
  settings.exercises = {"02.1", "02.2"};
  const std::vector<Protection> protections;
  const std::string page = class_html({grades, settings, protections, 3});
  CHECK_THAT(page, ContainsSubstring(">C</a> <small>c</small></td>"));  // there may be two of that name
  const std::string cell = "</td><td class=\"number\">";
  CHECK_THAT(page, ContainsSubstring(concat("<td>02.1", cell, "2", cell, "1", cell, "7.5 of 10</td>")));
  CHECK_THAT(page, ContainsSubstring(concat("<td>02.2", cell, "0", cell, "0", cell, "-</td>")));
}

TEST_CASE("the class's table and page hold everyone, and nothing that a spreadsheet or browser runs", "[grading]") {
  StudentGrade good{.key = "good", .student = "=cmd|x, \"y\"<script>"};
  good.exercises = {grade_from(ten_points(), report({check("a", "passed")}), nullptr, {})};
  const StudentGrade broken{.key = "broken", .student = "B", .status = "SETUP", .problems = {"the judge failed"}};
  Settings settings;
  settings.exercises = {"02.1"};
  const std::vector<StudentGrade> grades = {good, broken};
  const std::vector<Protection> protections = {{"no network", true}, {"memory is limited", false}};
  const ClassReport class_report{grades, settings, protections, 3};
  CHECK(grades_csv(class_report) ==
        "key,student,status,points,max_points,02.1\n"
        "good,\"'=cmd|x, \"\"y\"\"<script>\",graded,10.00,10.00,10.00\n"
        "broken,B,SETUP,,,\n");
  const std::string page = class_html(class_report);
  CHECK_THAT(page, ContainsSubstring("NOT ACTIVE"));
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
}

TEST_CASE("two graders at a time give their submissions different users", "[grading]") {
  if (::geteuid() != 0) test::skip("submissions have users of their own only if the grader is root");
  bool is_released = false;  // graders of other tests take and leave users, too
  for (int attempt = 0; attempt < 20 && !is_released; ++attempt) {
    std::optional<grading::SandboxUser> first(std::in_place);
    const int id = first->id();
    const grading::SandboxUser second;
    CHECK(second.id() != id);
    CHECK(second.id() >= 61000);
    CHECK(second.id() <= 61183);
    first.reset();
    is_released = grading::SandboxUser().id() == id;
  }
  CHECK(is_released);
}

TEST_CASE("failures that differ in numbers alone have one fingerprint", "[grading]") {
  auto one = grade_from(ten_points(), report({check("a", "WRONG")}), nullptr, {});
  auto other = one;
  other.checks.front().summary = "rank 2: 7";
  CHECK(failure_fingerprint(one) == failure_fingerprint(other));
  other.checks.front().verdict = "HANG";
  CHECK(failure_fingerprint(one) != failure_fingerprint(other));
}

TEST_CASE("a name in two submissions is found", "[grading]") {
  const std::vector<StudentGrade> grades = {
      {.key = "ann", .student = "Ann"}, {.key = "bob", .student = "Bob"}, {.key = "ann_late", .student = "Ann"}};
  CHECK(repeated_names(grades) == std::vector<std::string>{"Ann: ann ann_late"});
  CHECK(repeated_names({grades[1]}).empty());
}

}  // namespace lockstep::grading

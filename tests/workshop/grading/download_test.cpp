// A class as Moodle and Canvas hand it out: one zip or its folder, with their own names for files.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "class_maker.hpp"
#include "grading/class_download.hpp"
#include "grading/download_names.hpp"
#include "grading/release.hpp"
#include "grading/student_files.hpp"
#include "grading/submissions.hpp"
#include "grading_runs.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// The bytes of a submission.
std::string zipped(const Files& files) {
  const test::TemporaryFolder folder;
  write_zip(folder.path() / "x.zip", files);
  return read_file(folder.path() / "x.zip");
}

const Files kWork = {{"work/02.1_reduce_scatter/reduce_scatter.cpp", "// mine\n"}};

// Writes a download both as the zip and as its folder, and finds the submissions in one of them.
class Download {
 public:
  explicit Download(const Files& files) {
    write_zip(folder_.path() / "class.zip", files);
    for (const auto& [name, text] : files) {
      fs::create_directories((folder_.path() / "class" / name).parent_path());
      write_file(folder_.path() / "class" / name, text);
    }
  }

  [[nodiscard]] std::vector<Task> tasks(bool as_zip) {
    ignored.clear();
    return find_submissions(folder_.path() / (as_zip ? "class.zip" : "class"), "settings", folder_.path() / "unpacked",
                            ignored);
  }

  std::vector<std::string> ignored;

 private:
  test::TemporaryFolder folder_;
};

std::vector<std::string> keys_of(const std::vector<Task>& tasks) {
  std::vector<std::string> keys;
  for (const Task& task : tasks) keys.push_back(task.key);
  return keys;
}

}  // namespace

TEST_CASE("Moodle's names are read in all their forms", "[grading]") {
  const auto [name, student, number, kind, file] =
      GENERATE(table<std::string, std::string, std::string, std::string, std::string>({
          {"Ada Lovelace_1234567_assignsubmission_file_", "Ada Lovelace", "1234567", "file", ""},
          {"Ada Lovelace_1234567_assignsubmission_file", "Ada Lovelace", "1234567", "file", ""},
          {"Ada Lovelace_1234567_assignsubmission_file_my_lab.zip", "Ada Lovelace", "1234567", "file", "my_lab.zip"},
          {"Ada Lovelace_1234567_assignsubmission_onlinetext", "Ada Lovelace", "1234567", "onlinetext", ""},
          {"Participant_81_assignsubmission_file_", "Participant", "81", "file", ""},
          {"Eve_33_assignsubmission_file_x_22_assignsubmission_file_submission.zip", "Eve", "33", "file",
           "x_22_assignsubmission_file_submission.zip"},
          {"J\u00f6rg 2_3_81_assignsubmission_file_", "J\u00f6rg 2_3", "81", "file", ""},
          {"_81_assignsubmission_file_", "", "81", "file", ""},
          {"\x1b[2J\n_81_assignsubmission_file_", "?[2J ", "81", "file", ""},
      }));
  INFO(name);
  const auto found = moodle_name(name);
  REQUIRE(found);
  CHECK(found->student == student);
  CHECK(found->number == number);
  CHECK(found->kind == kind);
  CHECK(found->file == file);
  CHECK(found->key() == "moodle_" + number);
}

TEST_CASE("Canvas' names are read in all their forms", "[grading]") {
  const auto [name, key, student, file, upload, is_late] =
      GENERATE(table<std::string, std::string, std::string, std::string, std::string, bool>({
          {"lovelaceada_12345_6789_submission.zip", "canvas_12345", "lovelaceada", "submission.zip", "6789", false},
          {"lovelaceada_LATE_12345_6789_a_1_2.zip", "canvas_12345", "lovelaceada", "a_1_2.zip", "6789", true},
          {"o_brien_12_34_submission-1.zip", "canvas_12", "o_brien", "submission-1.zip", "34", false},
          {"LATE_LATE_12_34_x.zip", "canvas_12", "LATE", "x.zip", "34", true},
          {"anon_x7Fq2_6789_submission.zip", "canvas_anon_x7Fq2", "anon x7Fq2", "submission.zip", "6789", false},
          {"LATE_anon_12345_6789_submission.zip", "canvas_anon_12345", "anon 12345", "submission.zip", "6789", true},
      }));
  INFO(name);
  const auto found = canvas_name(name);
  REQUIRE(found);
  CHECK(found->key() == key);
  CHECK(found->student == student);
  CHECK(found->file == file);
  CHECK(found->upload == upload);
  CHECK(found->is_late == is_late);
}

TEST_CASE("other names are neither Moodle's nor Canvas'", "[grading]") {
  const std::string name = GENERATE(
      "", "_", "anna.zip", "anna_12345.zip", "anna_12345_6789.zip", "12345_6789_submission.zip", "anna_12_x_34",
      "Anna_assignsubmission_file_", "Anna_12a_assignsubmission_file_", "Anna_1234567_assignsubmission",
      "anna_1234567890123456789_1_x.zip", "anon_../x_1_y.zip", "Anna_1234567890123456789_assignsubmission_file_");
  INFO(name);
  CHECK(!moodle_name(name));
  CHECK(!canvas_name(name));
}

TEST_CASE("Moodle's download is taken as a zip and as a folder", "[grading]") {
  Download download({{"Ada Lovelace_11_assignsubmission_file_/submission.zip", zipped(kWork)},
                     {"Bob M\u00fcller_22_assignsubmission_file/lab.zip", zipped(kWork)},
                     {"Cy_33_assignsubmission_file_/work/02.1_reduce_scatter/reduce_scatter.cpp", "// mine\n"},
                     {"Dee_44_assignsubmission_file_/a.zip", "first"},
                     {"Dee_44_assignsubmission_file_/submission.zip", zipped(kWork)},
                     {"Eve_55_assignsubmission_onlinetext_/onlinetext.html", "<p>"},
                     {"Fay_66_assignsubmission_file_flat.zip", zipped(kWork)},
                     {"grades.csv", "x"}});
  const bool as_zip = GENERATE(true, false);
  INFO(as_zip);
  const std::vector<Task> tasks = download.tasks(as_zip);
  CHECK(keys_of(tasks) == std::vector<std::string>{"moodle_11", "moodle_22", "moodle_33", "moodle_44", "moodle_66"});
  for (const Task& task : tasks) {
    INFO(task.key);
    const auto is_work = [](const std::string& path) { return path.starts_with("work/"); };
    CHECK(read_submission(task.submission, is_work).files == kWork);
    CHECK(!task.submission.string().ends_with("mine"));
  }
  CHECK(tasks[1].origin->student == "Bob M\u00fcller");
  CHECK(tasks[0].notes.empty());
  CHECK(tasks[2].notes == std::vector<std::string>{"no archive was handed in"});
  CHECK(tasks[3].notes == std::vector<std::string>{"more than one file; graded: submission.zip", "not graded: a.zip"});
  CHECK(download.ignored == std::vector<std::string>{"Eve_55_assignsubmission_onlinetext_", "grades.csv"});
}

TEST_CASE("of Canvas' files the student's latest archive counts", "[grading]") {
  Download download({{"bob_22_900_submission.zip", "old"},
                     {"bob_22_1000_submission-1.zip", zipped(kWork)},
                     {"bob_22_1001_notes.pdf", "%PDF"},
                     {"cyd_LATE_33_1002_submission.zip", zipped(kWork)},
                     {"dee_44_1003_essay.pdf", "%PDF"},
                     {"eve_22_1004_submission.zip", "not of this student"},
                     {"__MACOSX/._bob_22_900_submission.zip", "x"}});
  const std::vector<Task> tasks = download.tasks(true);
  CHECK(keys_of(tasks) == std::vector<std::string>{"canvas_22", "canvas_33", "canvas_44"});
  CHECK(tasks[0].origin->student == "eve");  // the two cannot be told apart: a person must decide
  CHECK(std::ranges::count(tasks[0].notes, "the same number, but another name: bob") > 0);
  CHECK(tasks[1].notes == std::vector<std::string>{"late, says Canvas"});
  CHECK(tasks[2].notes == std::vector<std::string>{"not an archive: essay.pdf"});
  CHECK(download.ignored.empty());
}

TEST_CASE("names with numbers that an instructor has chosen are nobody's download", "[grading]") {
  Download download({{"week_1_2_anna.zip", "x"}, {"week_1_2_bob.zip", "y"}});
  CHECK(keys_of(download.tasks(false)) == std::vector<std::string>{"week_1_2_anna", "week_1_2_bob"});
  Download numbers({{"lab_1_1204627_anna.zip", "x"}, {"lab_1_1204628_bob.zip", "y"}});
  CHECK(keys_of(numbers.tasks(false)) == std::vector<std::string>{"lab_1_1204627_anna", "lab_1_1204628_bob"});
  Download alone({{"anna_12_900_lab.zip", "x"}, {"anna_12_901_lab-1.zip", "y"}, {"anna_12_902_notes.pdf", "z"}});
  CHECK(keys_of(alone.tasks(false)) == std::vector<std::string>{"canvas_12"});
  Download group({{"anna_1_7_lab.zip", "x"}, {"bob_2_7_lab.zip", "x"}});  // a file of both
  CHECK(keys_of(group.tasks(false)) == std::vector<std::string>{"canvas_1", "canvas_2"});
  Download around({{"all/anna.zip", "x"}, {"all/bob.zip", "y"}, {"all/cy/work/x", "z"}});
  CHECK(keys_of(around.tasks(true)) == std::vector<std::string>{"anna", "bob", "cy"});
}

TEST_CASE("the ending of an archive may be in capitals", "[grading]") {
  Download download({{"Cy_33_assignsubmission_file_/Submission.ZIP", zipped(kWork)},
                     {"anna.ZIP", zipped(kWork)},
                     {"bob.TAR.GZ", "x"}});
  const std::vector<Task> tasks = download.tasks(GENERATE(true, false));
  CHECK(keys_of(tasks) == std::vector<std::string>{"moodle_33", "anna", "bob"});
  CHECK(tasks.front().notes.empty());
  CHECK(download.ignored.empty());
}

TEST_CASE("files that only Apple's programs or git need are nobody's", "[grading]") {
  Download download({{"bob_22_900_submission.zip", zipped(kWork)},
                     {"._bob_22_900_submission.zip", "x"},
                     {"Cy_33_assignsubmission_file_/lab.zip", zipped(kWork)},
                     {"Cy_33_assignsubmission_file_/._lab.zip", "x"},
                     {"__MACOSX/._lab.zip", "x"},
                     {".git/config", "x"},
                     {".DS_Store", "x"}});
  const std::vector<Task> tasks = download.tasks(GENERATE(true, false));
  CHECK(keys_of(tasks) == std::vector<std::string>{"moodle_33", "canvas_22"});
  for (const Task& task : tasks) CHECK(task.notes.empty());
  CHECK(download.ignored.empty());
}

TEST_CASE("every submission has results of its own, whatever it is called", "[grading]") {
  Download download({{"canvas_12.zip", zipped(kWork)}, {"lovelace_12_6789_submission.zip", zipped(kWork)}});
  CHECK(keys_of(download.tasks(true)) == std::vector<std::string>{"canvas_12", "canvas_12_"});

  const test::TemporaryFolder folder;
  const std::string name(300, 'x');  // longer than a file's name may be
  write_zip(folder.path() / "class.zip", {{name + "1/work/x", "x"}, {name + "2/work/x", "x"}, {"anna/work/x", "x"}});
  std::vector<std::string> ignored;
  const auto tasks = find_submissions(folder.path() / "class.zip", "", folder.path() / "unpacked", ignored);
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0].key == "anna");
  CHECK(tasks[1].key != tasks[2].key);
  for (const Task& task : tasks) CHECK(fs::create_directories(folder.path() / "out" / task.key));
}

TEST_CASE("names in all languages tell students apart, and are neither options nor commands", "[grading]") {
  Download download({{"J\u00fcrgen O'Neil.zip", "x"},
                     {"\u738b\u4f1f.zip", "x"},
                     {"\u674e\u5a1c/work/x", "x"},
                     {"--help.zip", "x"},
                     {"a;b\xe2\x80\xae\x1b[2J.zip", "x"}});
  std::vector<std::string> keys = keys_of(download.tasks(GENERATE(true, false)));
  std::ranges::sort(keys);
  CHECK(keys == std::vector<std::string>{"J\u00fcrgen_O_Neil", "_--help", "a_b___2J", "\u674e\u5a1c", "\u738b\u4f1f"});
}

TEST_CASE("a clone is graded anew if its files have changed, and not if git or a build has", "[grading]") {
  const test::TemporaryFolder folder;
  const auto write = [&](const fs::path& file) {
    fs::create_directories((folder.path() / file).parent_path());
    write_file(folder.path() / file, file.string());
  };
  const auto basis = [&](const std::string& of_class) {
    std::vector<std::string> ignored;
    return find_submissions(folder.path() / of_class, "settings", folder.path() / "unpacked", ignored).at(0).basis;
  };
  write("in/anna/work/x");
  const std::string before = basis("in");
  write("in/anna/.git/FETCH_HEAD");
  write("in/anna/build/x.o");
  fs::create_symlink("itself", folder.path() / "in/anna/itself");
  CHECK(basis("in") == before);
  fs::rename(folder.path() / "in", folder.path() / "moved");
  CHECK(basis("moved") == before);
  write("moved/anna/work/y");
  CHECK(basis("moved") != before);
}

TEST_CASE("one submission is no class, and a damaged zip says so", "[grading]") {
  const test::TemporaryFolder folder;
  std::vector<std::string> ignored;
  write_zip(folder.path() / "submission.zip", {{"manifest.json", "{}"}, {"work/x", "x"}});
  CHECK_THROWS_WITH(find_submissions(folder.path() / "submission.zip", "", folder.path() / "u", ignored),
                    ContainsSubstring("is one submission"));
  write_file(folder.path() / "broken.zip", "PK?");
  CHECK_THROWS_AS(find_submissions(folder.path() / "broken.zip", "", folder.path() / "u", ignored), FormatError);
}

TEST_CASE("no name in a download becomes a path", "[grading]") {
  const test::TemporaryFolder folder;
  write_raw_archive(folder.path() / "class.zip",
                    {{.path = "../../escaped_11_assignsubmission_file_/x.zip", .text = "x"},
                     {.path = "/etc/escaped_22_33_x.zip", .text = "x"},
                     {.path = "..\\..\\$(id)\x1b[2J_44_assignsubmission_file_/../../x.zip", .text = "x"},
                     {.path = "A;rm -rf _55_assignsubmission_file_/--help;.zip", .text = "x"},
                     {.path = "J\u00f6rg_66_assignsubmission_file_/x.zip", .text = "x"},
                     {.path = "J\xf6rg_77_assignsubmission_file_/x.zip", .text = "not UTF-8"},
                     {.path = "link_88_99_x.zip", .link = "/etc/passwd"}},
                    ArchiveKind::kZip);
  std::vector<std::string> ignored;
  const auto tasks = find_submissions(folder.path() / "class.zip", "", folder.path() / "unpacked", ignored);
  CHECK(keys_of(tasks) == std::vector<std::string>{"moodle_55", "moodle_66", "moodle_77"});
  CHECK(tasks[1].origin->student == "J\u00f6rg");
  CHECK(tasks[2].origin->student == "J?rg");
  CHECK(ignored.size() == 4);
  for (const Task& task : tasks) CHECK(task.submission.parent_path() == folder.path() / "unpacked");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 2);
}

TEST_CASE("a class from Moodle is graded as it was downloaded", "[grading]") {
  require_complete_sandbox();
  const test::TemporaryFolder folder;
  const ClassMaker maker(course_root(), folder.path() / "made", release_of(course_root()).tag);
  const Files right = maker.only(maker.submission("is_right"));
  Files signed_by_ada = right, signed_by_bob = right;
  signed_by_ada["manifest.json"] = maker.manifest_of("ada", right, "Ada Lovelace");
  signed_by_bob["manifest.json"] = maker.manifest_of("bob", right, "Bob Brown");
  const Files signed_by_muller = {{"manifest.json", maker.manifest_of("jm", {}, "J\u00fcrgen M\u00fcller")}};
  write_zip(folder.path() / "class.zip",
            {{"Ada -=\u00fc Lovelace_11_assignsubmission_file_/submission.zip", zipped(signed_by_ada)},
             {"--jobs, 1_22_assignsubmission_file_/submission.zip", zipped(signed_by_bob)},
             {"Cy_33_assignsubmission_file_/essay.pdf", "%PDF"},
             {"Jurgen Muller_44_assignsubmission_file_/submission.zip", zipped(signed_by_muller)},
             {"Uma Gray_55_assignsubmission_file_/submission.zip", zipped(signed_by_muller)}});
  const test::Finished graded = grade_folder(folder.path() / "class.zip", folder.path() / "out", {"--only", "02.1"});
  INFO(graded.out << graded.err);
  REQUIRE(graded.exit_code == 0);
  const auto grade = [&](const std::string& key) {
    return read_student_grade(folder.path() / "out" / "students" / key).value();
  };
  CHECK(grade("moodle_11").student == "Ada -=\u00fc Lovelace");
  CHECK(grade("moodle_11").points() == grade("moodle_11").max_points());
  CHECK(grade("moodle_11").problems.empty());
  CHECK(grade("moodle_22").student == "--jobs, 1");
  CHECK(grade("moodle_22").problems == std::vector<std::string>{"manifest.json names another student"});
  CHECK(grade("moodle_33").points() == 0);
  CHECK(grade("moodle_44").problems == std::vector<std::string>{"it has no file of these exercises"});
  CHECK(grade("moodle_55").problems.front() == "manifest.json names another student");
  CHECK_THAT(read_file(folder.path() / "out" / "grades.csv"), ContainsSubstring("moodle_22,\"'--jobs, 1\","));
  CHECK(!fs::exists(folder.path() / "out" / ".scratch"));
}

}  // namespace lockstep::grading

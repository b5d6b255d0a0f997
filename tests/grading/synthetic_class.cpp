#include "synthetic_class.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <fstream>
#include <regex>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

constexpr const char* kExercise = "02.1";  // what attacks are written for

// An archive of anything at all, as only an attacker makes it.
struct RawEntry {
  std::string path, text, link;
};

void write_raw_archive(const fs::path& path, const std::vector<RawEntry>& entries, bool is_tar) {
  ::archive* const writer = ::archive_write_new();
  if (is_tar)
    ::archive_write_set_format_pax_restricted(writer);
  else
    ::archive_write_set_format_zip(writer);
  if (::archive_write_open_filename(writer, path.c_str()) != ARCHIVE_OK) throw IoError(path.string(), 0);
  for (const RawEntry& raw : entries) {
    ::archive_entry* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, raw.path.c_str());
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_filetype(entry, raw.link.empty() ? AE_IFREG : AE_IFLNK);
    if (!raw.link.empty()) ::archive_entry_set_symlink(entry, raw.link.c_str());
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(raw.text.size()));
    ::archive_write_header(writer, entry);
    ::archive_write_data(writer, raw.text.data(), raw.text.size());
    ::archive_entry_free(entry);
  }
  ::archive_write_close(writer);
  ::archive_write_free(writer);
}

class ClassMaker {
 public:
  ClassMaker(fs::path root, fs::path folder, std::string release)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        release_(std::move(release)),
        catalogue_(exercise::read_catalogue(root_)) {
    fs::create_directories(folder_);
  }

  // The files of all exercises below one of the project's folders ("solutions"), with a manifest.
  [[nodiscard]] Files all_from(const std::string& place) const {
    Files files;
    for (const Exercise& one : catalogue_)
      for (const std::string& file : one.files)
        files[path_in_submission(one, file)] = read_file(one.in(root_ / place) / file);
    return files;
  }

  // A file for 02.1 alone.
  [[nodiscard]] Files only(const std::string& text) const { return {{target(), text}}; }

  [[nodiscard]] std::string target() const {
    const Exercise& one = find_exercise(catalogue_, kExercise);
    return path_in_submission(one, one.files.front());
  }

  [[nodiscard]] std::string submission(const std::string& name) const {
    return read_file(root_ / "tests" / "grading" / "submissions" / (name + ".cpp"));
  }

  // The bank's file with one mistake chosen for good.
  [[nodiscard]] std::string mistake(const std::string& name) const {
    std::string text =
        read_file(find_exercise(catalogue_, kExercise).in(root_ / "tests" / "exercises") / "mistakes.cpp");
    const std::string bank = "}  // namespace lockstep::exercise\n";
    text.erase(0, text.find(bank) + bank.size());
    const std::string use = "using exercise::is_mistake;\n";
    text.replace(text.find(use), use.size(),
                 concat("namespace {\nbool is_mistake(std::string_view one) { return one == \"", name, "\"; }\n}\n"));
    return concat(
        "#include <string_view>\n#include <vector>\n\n#include "
        "\"02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp\"\n",
        text);
  }

  [[nodiscard]] std::string manifest_of(const std::string& key, const Files& files) const {
    Manifest manifest{.student = "Student " + key,
                      .release = {release_, "unknown"},
                      .exercises = {},
                      .references = {},
                      .digests = {}};
    for (const auto& [name, text] : files) manifest.digests[name] = sha256_hex(text);
    return to_text(manifest);
  }

  void zip(const std::string& key, Files files) const {
    files[kManifestName] = manifest_of(key, files);
    write_zip(folder_ / (key + ".zip"), files);
  }

  // As a student's fork is, or what a web page packs: with a folder around everything.
  void folder(const std::string& key, const Files& files) const {
    for (const auto& [name, text] : files) {
      fs::create_directories((folder_ / key / name).parent_path());
      write_file(folder_ / key / name, text);
    }
  }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }

 private:
  fs::path root_, folder_;
  std::string release_;
  std::vector<Exercise> catalogue_;
};

// Right ones, in every form in which they may come.
void add_honest(const ClassMaker& maker, std::vector<Expected>& expected) {
  Files right = maker.all_from("solutions");
  right[maker.target()] = maker.submission("is_right");
  maker.zip("right", right);
  expected.push_back({"right", "graded", "passed", "", 10, 10});
  maker.folder("right_in_a_folder", right);
  expected.push_back({"right_in_a_folder", "graded", "passed", "", 10, 10, "no manifest.json"});
  std::vector<RawEntry> entries = {{"repository-main/manifest.json", maker.manifest_of("packed", right), ""}};
  for (const auto& [name, text] : right) entries.push_back({"repository-main/" + name, text, ""});
  write_raw_archive(maker.path("right_packed.tar"), entries, true);
  expected.push_back({"right_packed", "graded", "passed", "", 10, 10});
  maker.zip("templates", maker.all_from("exercises"));
  expected.push_back({"templates", "graded", "TODO", "", 0, 0});
  maker.zip("one_exercise", maker.only(right.at(maker.target())));
  expected.push_back({"one_exercise", "graded", "passed", "", 10, 10});
}

// What somebody else has written.
void add_references(const ClassMaker& maker, std::vector<Expected>& expected) {
  const std::string solution = maker.all_from("solutions").at(maker.target());
  maker.zip("reference", maker.only(solution));
  expected.push_back({"reference", "graded", "REFERENCE", "", 0, 0});
  maker.zip("reference_without_marks", maker.only(std::regex_replace(solution, std::regex("//[^\n]*"), "")));
  expected.push_back({"reference_without_marks", "graded", "REFERENCE", "", 0, 0});
}

void add_mistake(const ClassMaker& maker, std::vector<Expected>& expected, const std::string& name) {
  maker.zip("mistake_" + name, maker.only(maker.mistake(name)));
  expected.push_back({"mistake_" + name, "graded", "WRONG|HANG|CRASH", name, 0.5, 9.5});
}

void add_attack(const ClassMaker& maker, std::vector<Expected>& expected, const std::string& name,
                const std::string& verdict, double most = 0) {
  maker.zip(name, maker.only(maker.submission(name)));
  expected.push_back({name, "graded", verdict, "", 0, most});
}

// Archives that are not what they should be.
void add_archives(const ClassMaker& maker, std::vector<Expected>& expected) {
  const std::string right = maker.submission("is_right");
  const std::string manifest = maker.manifest_of("x", {});
  write_raw_archive(
      maker.path("symbolic_link.zip"),
      {{kManifestName, manifest, ""}, {maker.target(), "", "../../../solutions/x.cpp"}, {"work/b", "", "/etc"}}, false);
  expected.push_back({"symbolic_link", "graded", "missing", "", 0, 0, "no regular file"});
  write_raw_archive(maker.path("path_above.zip"),
                    {{kManifestName, manifest, ""},
                     {"../escaped.txt", "x", ""},
                     {"/tmp/escaped.txt", "x", ""},
                     {"work/../../../../tmp/escaped.txt", "x", ""},
                     {maker.target(), right, ""}},
                    false);
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
  add_mistake(maker, expected, "sends_first");
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

#include "hostile_class.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/replace.hpp"
#include "base/unique_fd.hpp"
#include "class_maker.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnprintable = "\x1b[2J\n# 10 of 10\r<script>\xe2\x80\xae";

class HostileClass {
 public:
  HostileClass(const ClassMaker& maker, fs::path canary) : maker_(maker), canary_(std::move(canary)) {}

  // A source file of tests/workshop/grading/submissions.
  void add_source(const std::string& name, const std::string& verdicts) {
    maker_.zip(name, maker_.only(replaced(maker_.submission(name), "@CANARY@", canary_.string())));
    expected_.push_back({name, "graded", verdicts, "", 0, 0});
  }

  void add_honest(const std::string& key) {
    maker_.zip(key, maker_.only(right()));
    expected_.push_back({key, "graded", "passed", "", 10, 10});
  }

  // Uses folder names that grading itself might use.
  void add_honest_folder(const std::string& name) {
    maker_.folder(name, maker_.only(right()));
    expected_.push_back({name, "graded", "passed", "", 10, 10, "no manifest.json"});
  }

  void add_name() {
    const Files files = maker_.only(right());
    Files all = files;
    all[kManifestName] = maker_.manifest_of("", files, concat("=HYPERLINK(1);", kUnprintable, std::string(5000, 'x')));
    write_zip(maker_.path("named_by_an_attacker.zip"), all);
    expected_.push_back({"named_by_an_attacker", "graded", "passed", "", 10, 10});
    write_zip(maker_.path("=cmd|' C!A1\x1b[2J\n.zip"), files);
    expected_.push_back({"_cmd___C_A1__2J_", "graded", "passed", "", 10, 10, "no manifest.json"});
  }

  void add_manifest() {
    write_zip(maker_.path("nests_its_manifest.zip"),
              {{kManifestName, concat("{\"version\": ", std::string(500'000, '['), std::string(500'000, ']'), "}")}});
    expected_.push_back({"nests_its_manifest", "refused", "", "", 0, 0, "a different version"});
  }

  void add_archives() {
    write_raw_archive(maker_.path("links_to_the_grader.tar"),
                      {{"work/a", "", "/etc/shadow"},
                       {maker_.target(), "", "", canary_.string()},
                       {concat("work/", kUnprintable, "/../../../x"), "x"},
                       {maker_.target() + "/x", "", "../../.."}},
                      ArchiveKind::kTar);
    expected_.push_back({"links_to_the_grader", "graded", "missing", "", 0, 0, "no regular file"});
    std::vector<RawEntry> zeros;
    for (int i = 0; i < 6; ++i) zeros.push_back({concat("zeros_", i), std::string(60 << 20, '\0')});
    write_raw_archive(maker_.path("unpacks_to_much.tar.gz"), zeros, ArchiveKind::kGzippedTar);
    expected_.push_back({"unpacks_to_much", "refused", "", "", 0, 0, "unpacks to too much"});
  }

  // A folder with a pipe, a socket and a circle of links instead of files.
  void add_odd_folder() {
    const fs::path folder = maker_.path("odd_folder");
    const fs::path file = folder / maker_.target();
    fs::create_directories(file.parent_path());
    if (::mkfifo(file.c_str(), 0600) != 0) throw IoError("cannot make a pipe");
    fs::create_directory_symlink("..", folder / "work" / "circle");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const fs::path before = fs::current_path();
    fs::current_path(folder);  // socket names must be short
    std::strcpy(address.sun_path, "socket");
    const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int status = ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    fs::current_path(before);
    if (status != 0) throw IoError("cannot make a socket");
    expected_.push_back({"odd_folder", "graded", "missing", "", 0, 0, "no regular file"});
  }

  std::vector<Expected> expected() { return std::move(expected_); }

 private:
  [[nodiscard]] std::string right() const { return maker_.submission("is_right"); }

  const ClassMaker& maker_;
  fs::path canary_;
  std::vector<Expected> expected_;
};

using Sources = std::vector<std::pair<const char*, const char*>>;

const Sources kAnswers = {{"quotes_files", "RACE"},           {"claims_setup", "CRASH"},
                          {"claims_passed", "CRASH"},         {"throws_a_huge_text", "CRASH"},
                          {"answers_many_values", "CRASH"},   {"answers_nonsense", "CRASH"},
                          {"answers_before_main", "CRASH"},   {"writes_markup", "CRASH"},
                          {"prints_a_report", "CRASH"},       {"pretends_a_broken_sandbox", "CRASH"},
                          {"scribbles_on_the_board", "HANG"}, {"writes_to_other_ranks", "CRASH"},
                          {"does_nothing", "WRONG"}};

const Sources kDeeds = {{"uses_inherited_descriptors", "CRASH"},
                        {"reads_around", "CRASH"},
                        {"reads_its_surroundings", "CRASH"},
                        {"looks_into_others", "CRASH"},
                        {"smuggles_state", "CRASH"},
                        {"opens_devices", "CRASH"},
                        {"changes_its_program", "CRASH"},
                        {"writes_its_result", "CRASH"},
                        {"calls_home", "CRASH"},
                        {"fills_memory_with_files", "CRASH"},
                        {"forks_a_little", "CRASH"},
                        {"never_listens", "HANG"},
                        {"stops_itself", "HANG"}};

const Sources kCompiled = {{"blames_the_disk", "BUILD"},        {"blames_a_library", "BUILD"},
                           {"includes_foreign_files", "BUILD"}, {"assembles_foreign_files", "BUILD"},
                           {"includes_without_end", "BUILD"},   {"assembles_a_huge_file", "BUILD"},
                           {"loads_a_plugin", "BUILD"},         {"redefines_everything", "BUILD"}};

}  // namespace

std::vector<Expected> make_hostile_class(const fs::path& root, const fs::path& folder, const std::string& release,
                                         const fs::path& canary, Attack attack) {
  const ClassMaker maker(root, folder, release);
  HostileClass all(maker, canary);
  all.add_honest("honest");
  const Sources& sources = attack == Attack::kAnswers ? kAnswers : attack == Attack::kDeeds ? kDeeds : kCompiled;
  for (const auto& [name, verdicts] : sources) all.add_source(name, verdicts);
  if (attack != Attack::kFiles) return all.expected();
  for (const char* key : {"stage", "settings.json", "submissions"}) all.add_honest(key);
  all.add_honest_folder("given_checks.json");
  all.add_name();
  all.add_manifest();
  all.add_archives();
  all.add_odd_folder();
  return all.expected();
}

}  // namespace lockstep::grading

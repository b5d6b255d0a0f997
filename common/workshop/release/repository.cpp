#include "release/repository.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

FinishedProcess try_git(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", folder.string()});
  return exercise::run(words, folder, Collect::kSeparate);  // its warnings are no answers
}

// The output without its last line break.
std::string git(const fs::path& folder, const std::vector<std::string>& words) {
  FinishedProcess done = try_git(folder, words);
  std::size_t command = 0;
  while (words[command] == "-c") command += 2;
  if (done.exit_code != 0) throw Error(concat("git ", words[command], " failed:\n", done.output, done.errors));
  if (done.output.ends_with('\n')) done.output.pop_back();
  return done.output;
}

std::string git_as_lockstep(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"-c", "user.name=Lockstep", "-c", "user.email=lockstep@localhost"});
  return git(folder, words);
}

void tag(const fs::path& folder, const ReleaseNote& note, const std::string& commit) {
  git_as_lockstep(folder,
                  {"tag", "--annotate", note.tag(), commit, "--message", concat("Made from commit ", note.commit)});
}

// git's tree of all files of a folder, written into the repository through an index of its own.
std::string write_tree(const fs::path& git_folder, const fs::path& folder) {
  const fs::path index = folder.string() + ".index";
  fs::remove(index);
  const auto with_index = [&](std::vector<std::string> words) {
    const std::vector<std::string> command = {"env",
                                              concat("GIT_INDEX_FILE=", index.string()),
                                              "git",
                                              "-C",
                                              folder.string(),
                                              concat("--git-dir=", git_folder.string()),
                                              concat("--work-tree=", folder.string())};
    words.insert(words.begin(), command.begin(), command.end());
    const FinishedProcess done = exercise::run(words, folder, Collect::kSeparate);
    if (done.exit_code != 0) throw Error(concat("git ", words[command.size()], " failed:\n", done.output, done.errors));
    return done.output;
  };
  with_index({"add", "--all", "--force", "."});
  std::string tree = with_index({"write-tree"});
  fs::remove(index);
  tree.erase(tree.find_last_not_of('\n') + 1);
  return tree;
}

void require_own_state(const fs::path& repository, const ReleaseNote& note) {
  if (!git(repository, {"status", "--porcelain"}).empty())
    throw UsageError(concat(repository.string(), " has changes that are not committed: commit or remove them"));
  if (!git(repository, {"ls-files", "--", "work"}).empty())
    throw UsageError(concat(repository.string(), " has files in work/: it is a student's copy, not the release"));
  const FinishedProcess tagged = try_git(repository, {"rev-parse", "--verify", concat(note.tag(), "^{commit}")});
  if (tagged.exit_code != 0)
    throw UsageError(concat(repository.string(), " has no tag ", note.tag(), ": fetch it (git fetch --tags)"));
  if (tagged.output != git(repository, {"rev-parse", "HEAD"}) + "\n")
    throw UsageError(
        concat(repository.string(), " has other commits than those of the release; give a clone without them"));
}

}  // namespace

std::vector<std::string> tracked_files(const fs::path& course) {
  std::istringstream names(git(course, {"ls-files", "-z"}));  // without -z it quotes names that are not ASCII
  std::vector<std::string> files;
  for (std::string name; std::getline(names, name, '\0');) files.push_back(name);
  return files;
}

void require_committed(const fs::path& course) {
  const std::string changed = git(course, {"-c", "core.quotePath=false", "status", "--porcelain", "--", ".", ":!work"});
  if (changed.empty()) return;
  const auto others = std::ranges::count(changed, '\n');
  throw UsageError(concat("not committed: ", changed.substr(3, changed.find('\n') - 3),
                          others > 0 ? concat(" and ", others, " more (git status)") : "",
                          ". Commit what the release needs, or give --allow-dirty"));
}

void commit_release(const fs::path& folder, const ReleaseNote& note) {
  git(folder, {"init", "--quiet", "--initial-branch=main"});
  git(folder, {"add", "--all", "--force"});
  git_as_lockstep(folder, {"commit", "--quiet", "--message", concat("Lockstep for ", note.name)});
  tag(folder, note, "HEAD");
}

ReleaseNote require_correctable(const fs::path& repository, const fs::path& secret_file) {
  if (!fs::exists(repository / ".git") || !fs::exists(repository / "RELEASE"))
    throw UsageError(concat(repository.string(), " is not a release: it has no .git, or no file RELEASE"));
  const ReleaseNote note = parse_release_note(read_file(repository / "RELEASE"));
  if (!fs::exists(secret_file))
    throw UsageError(concat("the secret of this release is not in ", secret_file.string(), ": give it with --secret"));
  if (key_of(read_or_make_secret(secret_file), note.name, note.commit) != note.key)
    throw UsageError(concat(repository.string(), " was made with another secret than that in ", secret_file.string(),
                            ": it is a release of something else"));
  require_own_state(repository, note);
  return note;
}

void commit_correction(const fs::path& repository, const fs::path& folder, const ReleaseNote& note) {
  const std::string tree = write_tree(git(repository, {"rev-parse", "--absolute-git-dir"}), folder);
  if (git(repository, {"diff", "--name-only", "HEAD", tree, "--", ".", ":!RELEASE"}).empty())
    throw UsageError(concat("nothing has changed since ", git(repository, {"log", "-1", "--format=%s"})));
  const std::string commit = git_as_lockstep(
      repository,
      {"commit-tree", tree, "-p", "HEAD", "-m", concat("Lockstep for ", note.name, ": correction ", note.correction)});
  tag(repository, note, commit);
  const FinishedProcess merged = try_git(repository, {"merge", "--ff-only", "--quiet", commit});
  if (merged.exit_code == 0) return;
  git(repository, {"tag", "--delete", note.tag()});
  throw Error(concat("git merge failed:\n", merged.output, merged.errors));
}

int expected_commits(const fs::path& repository) {
  if (!fs::exists(repository / "RELEASE")) return 1;
  return 1 + parse_release_note(read_file(repository / "RELEASE")).correction;
}

}  // namespace lockstep::release

#include "grading/sandbox.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "exercise/trial_layout.hpp"
#include "grading/process_tree.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfineInside = "/lockstep_confine";
constexpr const char* kTemporaryBytes = "33554432";  // for /tmp inside, which is in memory

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path part = path.lexically_relative(folder);
  return !part.empty() && *part.begin() != "..";
}

// The PATH in which bubblewrap is searched for every submission.
std::vector<std::string> search_path() {
  return {concat("PATH=", environment::get("PATH").value_or("/usr/local/bin:/usr/bin:/bin"))};
}

bool is_root() { return ::geteuid() == 0; }

void append(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

// Mounts the system's programs and libraries, but no users' files.
void append_system(std::vector<std::string>& words) {
  append(words, {"--ro-bind", "/usr", "/usr"});
  for (const char* name : {"/bin", "/sbin", "/lib", "/lib64", "/lib32"}) {
    std::error_code missing;
    if (fs::is_symlink(name, missing))
      append(words, {"--symlink", fs::read_symlink(name).string(), name});
    else if (fs::is_directory(name, missing))
      append(words, {"--ro-bind", name, name});
  }
  append(words, {"--perms", "0755", "--dir", "/etc"});
  for (const char* name : {"/etc/alternatives", "/etc/ld.so.cache"}) append(words, {"--ro-bind-try", name, name});
  append(words, {"--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"});
  append(words, {"--size", kTemporaryBytes, "--perms", "1777", "--tmpfs", "/tmp"});
}

// Makes the parent folders of mounts: bubblewrap would make them private to a user who is not the one inside.
void append_parents(std::vector<std::string>& words, const std::vector<Mount>& mounts) {
  std::set<fs::path> parents;
  for (const Mount& mount : mounts)
    for (fs::path path = mount.to.parent_path(); path.has_relative_path(); path = path.parent_path())
      parents.insert(path);
  for (const fs::path& parent : parents)  // sorted, so that a folder comes before its subfolders
    if (std::ranges::none_of(mounts, [&](const Mount& mount) { return is_below(parent, mount.to); }))
      append(words, {"--perms", "0755", "--dir", parent.string()});
}

}  // namespace

Sandbox::Sandbox(fs::path confine, uid_t user, SandboxKind kind)
    : confine_(std::move(confine)), user_(user), kind_(kind) {}

std::vector<std::string> Sandbox::bubblewrap(const SandboxPlan& plan) const {
  std::vector<std::string> words = {"bwrap",
                                    "--die-with-parent",
                                    "--new-session",
                                    "--unshare-ipc",
                                    "--unshare-pid",
                                    "--unshare-uts",
                                    "--unshare-cgroup-try",
                                    "--cap-drop",
                                    "ALL"};
  if (!plan.has_loopback) append(words, {"--unshare-net"});
  if (kind_ == SandboxKind::kBubblewrapAsRoot)
    append(words, {"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"});  // lockstep_confine drops these after use
  else
    append(words, {"--unshare-user"});
  append_system(words);
  append_parents(words, plan.mounts);
  for (const Mount& mount : plan.mounts)
    append(words, {mount.is_writable ? "--bind" : "--ro-bind", mount.from.string(), mount.to.string()});
  append(words, {"--ro-bind", confine_.string(), kConfineInside, "--chdir", plan.folder.string(), "--setenv", "TMPDIR",
                 "/tmp", "--setenv", "HOME", "/tmp", "--", kConfineInside});
  return words;
}

std::vector<std::string> Sandbox::prefix(const SandboxPlan& plan) const {
  std::vector<std::string> words = has_own_files() ? bubblewrap(plan) : std::vector{confine_.string()};
  const Limits& limits = plan.limits;
  append(words, {concat("memory=", limits.memory_bytes), concat("file=", limits.file_bytes),
                 concat("processes=", limits.processes), concat("files=", limits.open_files),
                 concat("seconds=", limits.seconds)});
  if (plan.has_loopback) append(words, {"sockets=1"});
  if (is_root() && kind_ != SandboxKind::kBubblewrap) append(words, {concat("user=", user_)});
  append(words, {"--"});
  return words;
}

std::vector<std::string> Sandbox::own_network() {
  return {"bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"};
}

bool Sandbox::works() const {
  std::vector<std::string> command = prefix({});
  append(command, {"/bin/true"});
  try {
    const Ended ended = run_watched(command, search_path(), "/", {.wall_time = std::chrono::seconds(20)});
    return ended.exit_code == 0 && ended.errors.starts_with(exercise::kSandboxMark);
  } catch (const IoError& error) {
    if (error.error_number() != ENOENT && error.error_number() != EACCES) throw;
    return false;  // bubblewrap is not installed
  }
}

Sandbox Sandbox::best(const fs::path& confine, uid_t user) {
  std::vector<SandboxKind> kinds = {SandboxKind::kBubblewrap};
  if (is_root()) kinds.insert(kinds.begin(), SandboxKind::kBubblewrapAsRoot);
  for (const SandboxKind kind : kinds) {
    Sandbox sandbox(confine, user, kind);
    if (sandbox.works()) return sandbox;
  }
  return {confine, user, SandboxKind::kLimitsOnly};
}

void Sandbox::hand_over(const fs::path& folder) const {
  if (!is_root() || kind_ == SandboxKind::kBubblewrap) return;
  const auto give = [&](const fs::path& path) {
    if (::lchown(path.c_str(), user_, user_) != 0) throw IoError(concat("chown of ", path.string()), errno);
  };
  give(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) give(entry.path());
}

void Sandbox::let_pass(const fs::path& folder, const fs::path& top) const {
  if (!is_root() || has_own_files()) return;
  for (fs::path path = folder;; path = path.parent_path()) {
    fs::permissions(path, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
    if (path == top || !path.has_relative_path()) return;
  }
}

fs::path Sandbox::closed_folder(const fs::path& path) const {
  if (!is_root() || has_own_files()) return {};
  fs::path folder;
  for (const fs::path& part : path) {
    folder /= part;
    if ((fs::status(folder).permissions() & fs::perms::others_exec) == fs::perms::none) return folder;
  }
  return {};
}

void Sandbox::end_processes_of_user() const {
  if (!is_root() || kind_ == SandboxKind::kBubblewrap) return;
  (void)run_watched({confine_.string(), concat("user=", user_), "kill"}, {}, "/",
                    {.wall_time = std::chrono::seconds(20), .has_group = false});
}

std::vector<Protection> Sandbox::try_protections(const fs::path& hidden) const {
  struct Try {
    const char *name, *what;
    std::string argument;
  };
  const Limits limits;
  const Try tries[] = {{"no network", "network", "0"},
                       {"solutions, tests and other submissions cannot be read", "read", hidden.string()},
                       {"nothing can be written beside them", "write", hidden.string() + ".try"},
                       {"the grader's processes cannot be signalled", "signal", std::to_string(::getpid())},
                       {"processes are limited", "processes", std::to_string(limits.processes + 20)},
                       {"memory is limited", "memory", std::to_string(2 * limits.memory_bytes)},
                       {"files are limited in size", "file", std::to_string(2 * limits.file_bytes)},
                       {"the disk cannot be filled", "fill", "100000000"}};
  std::vector<Protection> protections;
  for (const Try& one : tries) {
    std::vector<std::string> command = prefix({});
    append(command, {has_own_files() ? kConfineInside : confine_.string(), concat("try=", one.what), one.argument});
    const Ended ended = run_watched(command, search_path(), "/", {.wall_time = std::chrono::seconds(30)});
    protections.push_back({one.name, ended.exit_code == 0 && ended.errors.starts_with(exercise::kSandboxMark)});
  }
  end_processes_of_user();
  return protections;
}

std::string describe(SandboxKind kind) {
  switch (kind) {
    case SandboxKind::kBubblewrapAsRoot:
      return "bubblewrap, started by root, with a user of its own inside";
    case SandboxKind::kBubblewrap:
      return "bubblewrap in a user namespace";
    case SandboxKind::kLimitsOnly:
      return "none: bubblewrap is missing or may not make namespaces here; limits only";
  }
  return "";
}

}  // namespace lockstep::grading

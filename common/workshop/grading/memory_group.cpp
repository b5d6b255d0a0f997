#include "grading/memory_group.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

const fs::path kControlGroups = "/sys/fs/cgroup";

// A place for new groups, and the name of the file with the limit.
struct Place {
  fs::path folder;
  const char* limit;
};

bool is_in(const std::string& word, const fs::path& file) {
  std::ifstream in(file);
  for (std::string one; in >> one;)
    if (one == word) return true;
  return false;
}

// Places for new groups, the best one first. /proc/self/cgroup has lines "4:memory:/x" (version 1) and "0::/x".
std::vector<Place> places() {
  std::vector<Place> all;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path own = fs::path(line.substr(second + 1)).relative_path();
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      for (const fs::path& folder : {kControlGroups / "memory" / own, kControlGroups / "memory"})
        all.push_back({folder, "memory.limit_in_bytes"});
    // A group that has processes cannot contain limited groups, so the new one becomes a sibling of this process's.
    if (controllers.empty())
      for (fs::path folder = (kControlGroups / own).parent_path(); folder.string().starts_with(kControlGroups.string());
           folder = folder.parent_path())
        if (is_in("memory", folder / "cgroup.subtree_control")) all.push_back({folder, "memory.max"});
  }
  return all;
}

bool write_line(const fs::path& file, const std::string& line) {
  std::error_code missing;
  if (!fs::exists(file, missing)) return false;
  std::ofstream out(file);
  out << line << std::flush;
  return out.good();
}

// The number after a word in one of a group's files; 0: none.
std::uint64_t number_in(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == name) return value;
  }
  return 0;
}

}  // namespace

std::optional<MemoryGroup> MemoryGroup::create(std::uint64_t most_bytes) {
  static std::atomic<int> made = 0;
  for (const Place& place : places()) {
    const fs::path folder = place.folder / concat("lockstep_grade_", ::getpid(), "_", ++made);
    std::error_code refused;
    if (!fs::create_directory(folder, refused)) continue;
    MemoryGroup group(folder);
    if (!write_line(folder / place.limit, std::to_string(most_bytes))) continue;
    (void)write_line(folder / "memory.swap.max", "0");  // without swap there is no such file
    return group;
  }
  return std::nullopt;
}

MemoryGroup::MemoryGroup(MemoryGroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

MemoryGroup::~MemoryGroup() {
  if (folder_.empty()) return;
  // A killed process stays in its group until the kernel has released it.
  for (int i = 0; i < 200; ++i) {
    if (::rmdir(folder_.c_str()) == 0) return;
    ::poll(nullptr, 0, 5);
  }
}

std::vector<std::string> MemoryGroup::wrapped(const std::vector<std::string>& command) const {
  std::vector<std::string> words = {"/bin/sh", "-c", "{ echo $$ >\"$0\"; } 2>/dev/null; exec \"$@\"",
                                    (folder_ / "cgroup.procs").string()};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

bool MemoryGroup::holds(pid_t pid) const {
  std::ifstream in(concat("/proc/", pid, "/cgroup"));
  for (std::string line; std::getline(in, line);)
    if (line.ends_with("/" + folder_.filename().string())) return true;
  return false;
}

bool MemoryGroup::has_ended_processes() const {
  return number_in(folder_ / "memory.events", "oom_kill") + number_in(folder_ / "memory.oom_control", "oom_kill") > 0;
}

}  // namespace lockstep::grading

#include "launch/descendants.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace lockstep::launch {
namespace {

struct ProcessLine {
  char state = '?';
  pid_t parent = 0;
};

// /proc/PID/stat is "PID (name) STATE PARENT ..."; the name may itself hold spaces and parentheses.
ProcessLine read_stat(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  ProcessLine line;
  if (name_end != std::string::npos) std::istringstream(text.substr(name_end + 1)) >> line.state >> line.parent;
  return line;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, char> states;
  std::error_code ignored;  // processes end while the folder is read
  for (std::filesystem::directory_iterator entry("/proc", ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    const ProcessLine line = read_stat(entry->path());
    children.emplace(line.parent, pid);
    states[pid] = line.state;
  }
  std::vector<pid_t> found = {ancestor};
  for (std::size_t next = 0; next < found.size(); ++next) {  // breadth first; `found` grows while it is walked
    const auto [first, last] = children.equal_range(found[next]);
    std::for_each(first, last, [&](const auto& child) { found.push_back(child.second); });
  }
  found.erase(found.begin());
  std::erase_if(found, [&](pid_t pid) { return states[pid] == 'Z'; });
  return found;
}

}  // namespace lockstep::launch

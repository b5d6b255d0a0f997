#include "base/processes.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "base/error.hpp"

namespace lockstep {
namespace {

// Calls `visit` with the process id and folder of each process.
template <typename Visit>
void for_each_process(const Visit& visit) {
  std::error_code ignored;  // processes end while the folder is read
  for (std::filesystem::directory_iterator entry("/proc", ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && rest == name.data() + name.size()) visit(pid, entry->path());
  }
}

}  // namespace

// "PID (name) STATE PARENT ..."; the name may itself hold spaces and parentheses.
ProcessState read_process_state(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  ProcessState state;
  if (name_end == std::string::npos) return state;
  std::istringstream fields(text.substr(name_end + 1));
  fields >> state.state >> state.parent;
  std::string skipped;
  for (int i = 0; i < 9; ++i) fields >> skipped;  // from the process group to the page faults of children
  fields >> state.user_ticks >> state.kernel_ticks;
  return state;
}

ProcessState read_process_state(pid_t pid) {
  return read_process_state(std::filesystem::path("/proc") / std::to_string(pid));
}

std::vector<std::filesystem::path> threads_of(pid_t pid) {
  std::vector<std::filesystem::path> folders;
  std::error_code gone;
  for (std::filesystem::directory_iterator task(concat("/proc/", pid, "/task"), gone), end; !gone && task != end;
       task.increment(gone))
    folders.push_back(task->path());
  return folders;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> all;
  for (const std::filesystem::path& thread : threads_of(pid)) {
    std::ifstream children(thread / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

std::vector<pid_t> family_of(pid_t pid) {
  std::vector<pid_t> all = {pid};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, char> states;
  for_each_process([&](pid_t pid, const std::filesystem::path& folder) {
    const ProcessState state = read_process_state(folder);
    children.emplace(state.parent, pid);
    states[pid] = state.state;
  });
  std::vector<pid_t> found = {ancestor};
  for (std::size_t next = 0; next < found.size(); ++next) {  // breadth first; `found` grows while it is walked
    const auto [first, last] = children.equal_range(found[next]);
    std::for_each(first, last, [&](const auto& child) { found.push_back(child.second); });
  }
  found.erase(found.begin());
  std::erase_if(found, [&](pid_t pid) { return states[pid] == 'Z'; });
  return found;
}

std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  for_each_process([&](pid_t pid, const std::filesystem::path& folder) {
    if (pid == getpid()) return;
    std::ifstream file(folder / "environ", std::ios::binary);  // empty for an ended process, closed to other users
    for (std::string text; std::getline(file, text, '\0');) {
      if (text == variable) return found.push_back(pid);
    }
  });
  return found;
}

std::vector<pid_t> kill_processes_with(const std::string& variable, const Deadline& deadline) {
  constexpr std::chrono::milliseconds kPause{10};
  std::vector<pid_t> left;
  while (!(left = processes_with(variable)).empty() && !deadline.has_expired()) {
    for (const pid_t pid : left) kill(pid, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
  return left;
}

std::string describe_processes(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids) text += concat(text.empty() ? "" : ", ", name_of_process(pid), " (process ", pid, ")");
  return text;
}

std::string name_of_process(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace lockstep

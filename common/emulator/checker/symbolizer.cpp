#include "emulator/checker/symbolizer.hpp"

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <sstream>

extern "C" char** environ;  // NOLINT: POSIX names it

namespace lockstep::emulator::checker {
namespace {

struct Spot {
  std::uintptr_t address = 0;  // sought
  std::string path;
  std::uintptr_t offset = 0;  // as the file counts
};

int find_image(dl_phdr_info* info, std::size_t, void* result) {
  auto& spot = *static_cast<Spot*>(result);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || spot.address - info->dlpi_addr - segment.p_vaddr >= segment.p_memsz) continue;
    spot.path = info->dlpi_name[0] == '\0' ? "/proc/self/exe" : info->dlpi_name;
    spot.offset = spot.address - info->dlpi_addr;
    return 1;
  }
  return 0;
}

// The link itself would name addr2line's own binary.
std::string real_path(const std::string& path) {
  if (path != "/proc/self/exe") return path;
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : path;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 1024> piece{};
  for (ssize_t got = 0; (got = ::read(descriptor, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// What addr2line prints; empty where it cannot be run.
std::string run_addr2line(const Spot& spot) {
  std::ostringstream address;
  address << "0x" << std::hex << spot.offset;
  std::array<std::string, 5> words{"addr2line", "-ifC", "-e", real_path(spot.path), address.str()};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const bool runs = ::posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  if (runs) {
    text = read_all(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  ::close(ends[0]);
  return text;
}

// "file:line" or "file:line (discriminator 2)"; nothing for "??:0" and "file:?".
std::optional<Frame> parse_frame(const std::string& function, const std::string& place) {
  const std::size_t end = place.find(" (");
  const std::string text = place.substr(0, end);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.rfind("??", 0) == 0) return std::nullopt;
  Frame frame{function == "??" ? "" : function, text.substr(0, colon), 0};
  for (const char digit : text.substr(colon + 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    frame.line = frame.line * 10 + static_cast<unsigned>(digit - '0');
  }
  if (frame.line == 0) return std::nullopt;
  return frame;
}

std::vector<Frame> look_up(std::uintptr_t address) {
  Spot spot{address, "", 0};
  dl_iterate_phdr(&find_image, &spot);
  if (spot.path.empty()) return {{"", "unknown code", 0}};
  std::istringstream text(run_addr2line(spot));
  std::vector<Frame> frames;
  for (std::string function, place; std::getline(text, function) && std::getline(text, place);) {
    if (auto frame = parse_frame(function, place)) frames.push_back(*frame);
  }
  if (frames.empty()) {
    std::ostringstream where;
    where << real_path(spot.path) << "+0x" << std::hex << spot.offset;
    frames.push_back({"", where.str(), 0});
  }
  return frames;
}

}  // namespace

const std::vector<Frame>& Symbolizer::frames(std::uintptr_t return_address) {
  const auto found = known_.find(return_address);
  if (found != known_.end()) return found->second;
  return known_.emplace(return_address, look_up(return_address - 1)).first->second;
}

const Frame& Symbolizer::user_frame(std::uintptr_t return_address) {
  const std::vector<Frame>& all = frames(return_address);
  for (const Frame& frame : all) {
    if (is_user_file(frame.file)) return frame;
  }
  return all.front();
}

std::string Symbolizer::function_name(const void* function) {
  std::string name = frames(reinterpret_cast<std::uintptr_t>(function) + 1).back().function;
  name = name.substr(0, name.find_first_of("(<"));
  return name.substr(name.rfind(' ') == std::string::npos ? 0 : name.rfind(' ') + 1);
}

bool is_user_file(const std::string& file) {
  if (file.rfind("/usr/", 0) == 0) return false;
  for (const char* const part : {"/lockstep_emulator/", "emulator/cuda/", "/c++/", "/lib/gcc/"}) {
    if (file.find(part) != std::string::npos) return false;
  }
  return true;
}

}  // namespace lockstep::emulator::checker

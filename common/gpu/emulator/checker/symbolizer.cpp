#include "emulator/checker/symbolizer.hpp"

#include <link.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "base/addresses.hpp"
#include "base/error.hpp"
#include "base/process.hpp"

namespace lockstep::emulator::checker {
namespace {

struct Spot {
  std::uintptr_t address = 0;  // to look up
  std::string path;
  std::uintptr_t offset = 0;  // in the file
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

// Resolves the link, which addr2line would take for its own binary.
std::string real_path(const std::string& path) {
  if (path != "/proc/self/exe") return path;
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : path;
}

// The output of addr2line; empty if it cannot be run.
std::vector<SourceFrame> source_frames(const Spot& spot) {
  std::ostringstream address;
  address << "0x" << std::hex << spot.offset;
  try {
    const FinishedProcess finished = run_process({.command = addr2line_command(real_path(spot.path), {address.str()}),
                                                  .empty_streams = {STDIN_FILENO, STDERR_FILENO}},
                                                 Collect::kOutput);
    const auto frames = parse_addr2line(finished.output);
    return frames.empty() ? std::vector<SourceFrame>() : frames.front();
  } catch (const IoError&) {
    return {};
  }
}

std::vector<Frame> look_up(std::uintptr_t address) {
  Spot spot{address, "", 0};
  dl_iterate_phdr(&find_image, &spot);
  if (spot.path.empty()) return {{"", "unknown code", 0}};
  std::vector<Frame> frames;
  for (const SourceFrame& frame : source_frames(spot)) frames.push_back({frame.function, frame.file, frame.line});
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
  const std::string anonymous = "(anonymous namespace)::";  // this parenthesis does not begin the parameters
  if (const std::size_t at = name.find(anonymous); at != std::string::npos) name.erase(at, anonymous.size());
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

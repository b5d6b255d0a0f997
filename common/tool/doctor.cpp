#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "base/error.hpp"
#include "launch/cores.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

// The value after "key:" or "key=" in a file of such lines.
std::string field_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", line.find_first_of(":=") + 1);
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_last_not_of("\" ") + 1 - begin);
  }
  return "unknown";
}

double gigabytes_available() { return std::stod("0" + field_of("/proc/meminfo", "MemAvailable")) / (1024 * 1024); }

std::string find_in_path(const std::string& name) {
  const char* path = getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
    begin = end + 1;
  }
  return "";
}

void print(const std::string& what, const std::string& value) {
  std::cout << "  " << what << std::string(what.size() < 18 ? 18 - what.size() : 1, ' ') << value << "\n";
}

void print_program(const std::string& name, const std::string& use) {
  const std::string path = find_in_path(name);
  print(name, path.empty() ? "missing: " + use : path);
}

}  // namespace

int doctor(const Arguments& arguments) {
  if (!arguments.empty()) {
    std::cout << "Usage: ./lockstep doctor\n\nSays what this machine has, and what is missing.\n";
    return arguments.front() == "--help" || arguments.front() == "-h" ? 0 : 2;
  }
  const Project project = find_project();
  const launch::Cores cores = launch::usable_cores();
  utsname system{};
  uname(&system);
  std::cout << "machine\n";
  print("system", field_of("/etc/os-release", "PRETTY_NAME") + ", Linux " + system.release + ", " + system.machine);
  print("processor", field_of("/proc/cpuinfo", "model name"));
  print("cores", concat(cores.physical, " usable, ", cores.logical, " hardware threads; ./lockstep train uses ",
                        suitable_rank_count(), " ranks"));
  print("memory", concat(static_cast<int>(gigabytes_available() * 10) / 10.0, " GiB available"));
  std::error_code ignored;
  const fs::space_info disk = fs::space(project.root, ignored);
  print("disk", concat(disk.available / (1 << 30), " GiB free for ", project.root.string()));
  print("GPU",
        fs::exists("/dev/nvidia0") ? "an NVIDIA device (this build computes on the CPU)" : "none; none is needed");

  std::cout << "build\n";
  print("folder", project.build.string());
  print("compiler", concat("g++ or clang ", __VERSION__));
  print("matrix products",
        LOCKSTEP_HAS_ONEDNN ? "oneDNN" : "Eigen (install libdnnl-dev and configure again for faster ones)");

  std::cout << "programs\n";
  print_program("cmake", "needed to build");
  print_program("ninja", "needed to build");
  print_program("ccache", "makes later builds faster");
  print_program("clang-format", "needed only to format changed code");
  print_program("curl", "needed only for ./lockstep data");
  print_program("nvcc", "needed only for NVIDIA devices");
  return 0;
}

}  // namespace lockstep::tool

#include "tool/machine_report.hpp"

#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/counted.hpp"
#include "base/cpu_quota.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "launch/cores.hpp"
#include "tool/configuration.hpp"
#include "tool/libraries.hpp"
#include "tool/network_report.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

constexpr double kGib = 1024.0 * 1024 * 1024;

std::string gib(double bytes) { return with_digits(bytes / kGib, 1) + " GiB"; }

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string joined(const std::vector<std::string>& words, const char* between = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

Fact processor() {
  std::string model = field_of("/proc/cpuinfo", "model name");
  if (model == "unknown") model = field_of("/proc/cpuinfo", "CPU part");
  return {"processor", model, ""};
}

// The instruction sets by which the kernels here and oneDNN choose their code.
Fact vector_units() {
  std::string flags = field_of("/proc/cpuinfo", "flags");
  if (flags == "unknown") flags = field_of("/proc/cpuinfo", "Features");  // arm64
  std::istringstream words(flags);
  std::set<std::string> present;
  for (std::string word; words >> word;) present.insert(word);
  std::vector<std::string> found;
  for (const char* name :
       {"avx2", "fma", "avx512f", "avx512_bf16", "avx_vnni", "amx_tile", "amx_bf16", "asimd", "sve", "bf16"}) {
    if (present.contains(name)) found.emplace_back(name);
  }
  return {"vector units", found.empty() ? "none that is used" : joined(found, " "), ""};
}

// "max" or an unreadable file means no limit.
std::string control_group_limit(const std::string& name) {
  std::ifstream file("/proc/self/cgroup");
  std::string line, value;
  while (std::getline(file, line) && value.empty()) {
    if (line.starts_with("0::/")) value = first_line("/sys/fs/cgroup" + line.substr(3) + "/" + name);
  }
  if (value.empty()) value = first_line("/sys/fs/cgroup/" + name);
  return value.starts_with("max") ? "" : value;
}

Fact control_group() {
  const std::string memory = control_group_limit("memory.max");
  std::vector<std::string> limits;
  if (const auto quota = cpu_quota()) limits.push_back(concat("processors ", with_digits(*quota, 1)));
  double bytes = 0;
  if (std::istringstream(memory) >> bytes) limits.push_back("memory " + gib(bytes));
  return {"control group", limits.empty() ? "no limits" : joined(limits), ""};
}

Fact memory() {
  constexpr double kLeast = 0.5 * kGib;
  const auto bytes = [](const char* key) {
    double kib = 0;
    std::istringstream(field_of("/proc/meminfo", key)) >> kib;
    return kib * 1024;
  };
  const double available = bytes("MemAvailable");
  return {"memory", concat(gib(available), " available of ", gib(bytes("MemTotal"))),
          available < kLeast ? "too little for two ranks of the tiny model: end other programs" : ""};
}

Fact cores() {
  const launch::Cores usable = launch::usable_cores();
  return {"cores",
          concat(usable.physical, " usable, ", usable.logical, " hardware threads; ", tool_as_typed(), " train uses ",
                 counted(suitable_rank_count(), "rank")),
          ""};
}

Fact space(const std::string& name, const fs::path& path, double least, const std::string& trouble) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return {name, "cannot be read", trouble};
  const double free_bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  return {name, concat(gib(free_bytes), " free in ", shown(path)), free_bytes < least ? trouble : ""};
}

FactGroup machine() {
  utsname system{};
  uname(&system);
  return {
      "machine",
      {{"system", field_of("/etc/os-release", "PRETTY_NAME") + ", Linux " + system.release + ", " + system.machine, ""},
       processor(),
       vector_units(),
       cores(),
       memory(),
       control_group(),
       space("shared memory", "/dev/shm", 64.0 * 1024 * 1024,
             "NCCL, MPI and PyTorch need it (ours do not): in a container, start it with --shm-size=1g"),
       space("temporary files", environment::get("TMPDIR").value_or("/tmp"), 64.0 * 1024 * 1024,
             "make the folder that TMPDIR names, or free some space there")}};
}

FactGroup gpus() {
  FactGroup group{"GPU", {}};
  const int count = gpu_count();
  std::error_code ignored;
  std::vector<std::string> models;
  for (const fs::directory_entry& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    models.push_back(field_of((gpu.path() / "information").string(), "Model"));
  std::string found = concat(count, " NVIDIA: ", models.empty() ? "unknown model" : joined(models));
  group.facts.push_back({"devices", count == 0 ? "none; none is needed" : found,
                         count > 0 && !LOCKSTEP_HAS_CUDA
                             ? "this build computes on the CPU: LOCKSTEP_PRESET=cuda ./lockstep builds for GPUs"
                             : ""});
  const std::string driver = first_line("/proc/driver/nvidia/version");
  group.facts.push_back({"driver", driver.empty() ? "none" : driver.substr(driver.find(':') + 1),
                         count > 0 && driver.empty() ? "there are devices without a driver: install NVIDIA's" : ""});
  group.facts.push_back({"CUDA of the driver", cuda_driver_version(), ""});
  group.facts.push_back({"NCCL", nccl_version(), ""});
  return group;
}

// oneDNN is the faster library, except on arm64: Debian's build has no fast matrix product there.
#if defined(__aarch64__)
constexpr const char* kHowToBeFaster = "";
#else
constexpr const char* kHowToBeFaster = " (install libdnnl-dev and configure again for faster ones)";
#endif

// The build's compiler and linked libraries.
FactGroup build() {
  const Project project = find_project();
  return {"build",
          {{"lockstep", LOCKSTEP_VERSION, ""},
           {"folder", shown(project.build), ""},
           space("disk", project.root, 256.0 * 1024 * 1024, "a build needs 2.5 GB: free some space"),
           {"compiler", LOCKSTEP_COMPILER, ""},
           {"devices", LOCKSTEP_HAS_CUDA ? "cpu, cuda" : "cpu, emulated", ""},
           {"matrix products", LOCKSTEP_HAS_ONEDNN ? "oneDNN" : concat("Eigen", kHowToBeFaster), ""},
           {"backends", LOCKSTEP_BACKENDS, ""},
           {"transports", "TCP; shared memory (memfd) between ranks of one host", ""}}};
}

std::string find_in_path(const std::string& name) {
  const std::string folders = environment::get("PATH").value_or("");
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    if (access(candidate.c_str(), X_OK) == 0) return shown(candidate);
    begin = end + 1;
  }
  return "";
}

FactGroup programs() {
  FactGroup group{"programs", {}};
  const std::array<std::pair<const char*, std::string>, 6> wanted = {
      {{"cmake", "needed to build"},
       {"ninja", "needed to build"},
       {"ccache", "makes later builds faster"},
       {"clang-format", "needed only to format changed code"},
       {"curl", as_typed("needed only for ./lockstep data")},
       {"nvcc", "needed only for NVIDIA devices"}}};
  for (const auto& [name, use] : wanted) {
    const std::string path = find_in_path(name);
    group.facts.push_back({name, path.empty() ? concat("missing: ", use) : path, ""});
  }
  return group;
}

// Variables that change how a job runs. Values that may hold a secret, an address or a path are not shown.
FactGroup variables() {
  FactGroup group{"settings", {}};
  try {
    const fs::path file = default_configuration_file();
    const bool exists = fs::exists(file);
    group.facts.push_back(
        {"configuration", shown(file) + (exists ? ": " + describe(read_configuration(file)) : ": none"), ""});
  } catch (const Error& error) {
    group.facts.push_back({"configuration", "cannot be used", error.what()});
  }
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "CUDA_VISIBLE_DEVICES",
        "LOCKSTEP_PRESET", "LOCKSTEP_DEVICE", "LOCKSTEP_MIXED_PRECISION", "LOCKSTEP_TRANSPORT", "LOCKSTEP_JOIN_SECONDS",
        "LOCKSTEP_PROGRESS_SECONDS", "LOCKSTEP_LIVENESS_SECONDS", "LOCKSTEP_GRACE_SECONDS", "LOCKSTEP_PREEMPT_SIGNAL",
        "LOCKSTEP_INJECT", "LOCKSTEP_DEBUGGER", "LOCKSTEP_NO_MEMORY_CACHE"}) {
    if (const auto value = environment::get(name)) group.facts.push_back({name, *value, ""});
  }
  for (const char* name :
       {"MASTER_ADDR", "MASTER_PORT", "LOCKSTEP_STORE", "LOCKSTEP_TOKEN", "LOCKSTEP_TOKEN_FILE",
        "LOCKSTEP_BIND_ADDRESS", "LOCKSTEP_INTERFACE", "LOCKSTEP_FLIGHT_DIR", "LD_PRELOAD", "LD_LIBRARY_PATH"}) {
    if (environment::get(name)) group.facts.push_back({name, "is set", ""});
  }
  return group;
}

}  // namespace

std::string field_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", line.find_first_of(":=") + 1);
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_last_not_of("\" ") + 1 - begin);
  }
  return "unknown";
}

std::vector<FactGroup> describe_machine() {
  return {machine(), gpus(), describe_network(), build(), programs(), variables()};
}

}  // namespace lockstep::tool

#include "tool/configuration.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/nearest_match.hpp"
#include "launch/cores.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAuto = "auto";
constexpr int kMostThreads = 1024;

OptionCheck automatic_or(OptionCheck check) {
  return [check = std::move(check)](const std::string& text) {
    const std::string wrong = text == kAuto ? "" : check(text);
    return wrong.empty() ? wrong : wrong + ", or auto";
  };
}

Setting processes(bool is_gpu) {
  const launch::Cores cores = launch::usable_cores();
  const int count = is_gpu ? gpu_count() : suitable_rank_count();
  return {.key = "num_processes",
          .question = "Number of processes (ranks)",
          .explanation = is_gpu ? concat("one per GPU; this machine has ", gpu_count())
                                : concat("on CPUs no more than cores; this machine has ", cores.physical),
          .suggestion = std::to_string(count),
          .neutral = kAuto,
          .check = automatic_or(whole_number(1, 1024)),
          .is_number = true,
          .variable = ""};
}

Setting device(bool is_gpu) {
  return {.key = "device",
          .question = "Device",
          .explanation = LOCKSTEP_HAS_CUDA
                             ? "cpu or cuda (NVIDIA GPUs)"
                             : "cpu or emulated (a GPU's kernels on the CPU, slow); cuda needs another build",
          .suggestion = is_gpu ? "cuda" : "cpu",
          .neutral = "cpu",
          .check = one_of({"cpu", "emulated", "cuda"}),
          .variable = "LOCKSTEP_DEVICE"};
}

Setting mixed_precision() {
  return {.key = "mixed_precision",
          .question = "Mixed precision",
          .explanation = "no (float32), bf16, or fp16 (on cuda and emulated); programs with an Accelerator read it",
          .suggestion = "no",
          .neutral = "no",
          .check = one_of({"no", "bf16", "fp16"}),
          .variable = "LOCKSTEP_MIXED_PRECISION"};
}

Setting threads() {
  return {.key = "threads_per_process",
          .question = "Threads per process",
          .explanation = "auto divides the cores among the processes",
          .suggestion = kAuto,
          .neutral = kAuto,
          .check = automatic_or(whole_number(1, kMostThreads)),
          .is_number = true,
          .variable = "OMP_NUM_THREADS"};
}

// A JSON value as a user would type it.
std::string text_of(const fs::path& file, const Setting& setting, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (setting.is_number && value.is_number_integer()) return dump_json(value);
  throw FormatError(concat(file.string(), ": ", setting.key, " is ", dump_json(value), ", which is no ",
                           setting.is_number ? "whole number" : "string"));
}

}  // namespace

std::vector<Setting> settings() {
  const bool is_gpu = LOCKSTEP_HAS_CUDA && gpu_count() > 0;
  return {processes(is_gpu), device(is_gpu), mixed_precision(), threads()};
}

fs::path default_configuration_file() {
  const auto configured = environment::get("XDG_CONFIG_HOME"), home = environment::get("HOME");
  if (!configured && !home)
    throw UsageError("neither HOME nor XDG_CONFIG_HOME is set; name the file with --config FILE");
  return (configured ? fs::path(*configured) : fs::path(*home) / ".config") / "lockstep" / "config.json";
}

Configuration read_configuration(const fs::path& file) {
  nlohmann::json json;
  try {
    json = parse_json(read_file(file));
  } catch (const nlohmann::json::parse_error& error) {
    throw FormatError(concat(file.string(), " is no JSON: ", error.what()));
  }
  if (!json.is_object()) throw FormatError(concat(file.string(), " is no JSON object, { \"key\": value, ... }"));
  const std::vector<Setting> known = settings();
  std::vector<std::string> keys;
  for (const Setting& setting : known) keys.push_back(setting.key);
  Configuration configuration;
  for (const auto& [key, value] : json.items()) {
    const auto setting = std::ranges::find(known, key, &Setting::key);
    if (setting == known.end()) {
      std::string list;
      for (const std::string& each : keys) list += (list.empty() ? "" : ", ") + each;
      throw FormatError(concat(file.string(), ": unknown key ", key, did_you_mean(key, keys), " (", list, ")"));
    }
    const std::string text = text_of(file, *setting, value);
    const std::string wrong = setting->check(text);
    if (!wrong.empty()) throw FormatError(concat(file.string(), ": ", key, ": ", wrong));
    configuration[key] = text;
  }
  return configuration;
}

void write_configuration(const fs::path& file, const Configuration& configuration) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Setting& setting : settings()) {
    const auto value = configuration.find(setting.key);
    if (value == configuration.end()) continue;
    if (setting.is_number && value->second != kAuto)
      json[setting.key] = std::stoi(value->second);
    else
      json[setting.key] = value->second;
  }
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) throw IoError(concat("making ", file.parent_path().string()), error.value());
  write_file(file, dump_json(json, 2) + "\n");
}

std::string describe(const Configuration& configuration) {
  std::string text;
  for (const Setting& setting : settings()) {
    const auto value = configuration.find(setting.key);
    if (value != configuration.end()) text += concat(text.empty() ? "" : ", ", setting.key, " ", value->second);
  }
  return text.empty() ? "nothing" : text;
}

int gpu_count() {
  int count = 0;
  while (fs::exists(concat("/dev/nvidia", count))) ++count;
  return count;
}

std::string shown(const fs::path& path) {
  const std::string text = path.string(), home = environment::get("HOME").value_or("");
  const bool is_below = home.size() > 1 && text.starts_with(home) &&
                        (text.size() == home.size() || text[home.size()] == '/' || home.back() == '/');
  return is_below ? "~" + text.substr(home.back() == '/' ? home.size() - 1 : home.size()) : text;
}

}  // namespace lockstep::tool

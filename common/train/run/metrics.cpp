#include "run/metrics.hpp"

#include <fcntl.h>

#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "base/log.hpp"
#include "run/record_file.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

using Milliseconds = StepMetrics::Milliseconds;

// JSON has no NaN and no infinity: they are written as null.
double number_from(const nlohmann::json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

double number(const nlohmann::json& json, const char* name) { return number_from(json.at(name)); }

Milliseconds milliseconds(const nlohmann::json& json, const char* name) { return Milliseconds(number(json, name)); }

StepMetrics from_json(const nlohmann::json& json) {
  StepMetrics metrics;
  json.at("step").get_to(metrics.step);
  json.at("epoch").get_to(metrics.epoch);
  metrics.loss = number(json, "loss");
  metrics.learning_rate = number(json, "learning_rate");
  if (json.contains("gradient_norm")) metrics.gradient_norm = number(json, "gradient_norm");
  metrics.unit = json.contains(name_of(Unit::kSamples)) ? Unit::kSamples : Unit::kTokens;
  json.at(name_of(metrics.unit)).get_to(metrics.count);
  metrics.duration = milliseconds(json, "step_ms");
  metrics.data_wait = milliseconds(json, "data_wait_ms");
  metrics.forward = milliseconds(json, "forward_ms");
  metrics.backward = milliseconds(json, "backward_ms");
  metrics.update = milliseconds(json, "update_ms");
  if (json.contains("validation_loss")) metrics.validation_loss = number(json, "validation_loss");
  if (json.contains("scores"))
    for (const auto& [name, score] : json["scores"].items()) metrics.scores[name] = number_from(score);
  if (json.contains("exposed_communication_ms")) {
    metrics.exposed_communication = milliseconds(json, "exposed_communication_ms");
  }
  metrics.slowest_rank = json.value("slowest_rank", 0);
  if (json.contains("peak_memory_mib"))
    for (const nlohmann::json& peak : json["peak_memory_mib"]) metrics.peak_memory_mib.push_back(number_from(peak));
  if (json.contains("sample_ids")) json["sample_ids"].get_to(metrics.sample_ids);
  return metrics;
}

nlohmann::ordered_json to_ordered_json(const StepMetrics& metrics) {
  nlohmann::ordered_json json{{"step", metrics.step},
                              {"epoch", metrics.epoch},
                              {"loss", metrics.loss},
                              {"learning_rate", metrics.learning_rate}};
  if (metrics.gradient_norm) json["gradient_norm"] = *metrics.gradient_norm;
  const std::string unit = name_of(metrics.unit);
  json[unit] = metrics.count;
  json[unit + "_per_s"] = metrics.count_per_s();
  json["step_ms"] = metrics.duration.count();
  json["data_wait_ms"] = metrics.data_wait.count();
  json["forward_ms"] = metrics.forward.count();
  json["backward_ms"] = metrics.backward.count();
  json["update_ms"] = metrics.update.count();
  if (metrics.validation_loss) json["validation_loss"] = *metrics.validation_loss;
  if (!metrics.scores.empty()) json["scores"] = metrics.scores;
  if (metrics.exposed_communication) {
    json["exposed_communication_ms"] = metrics.exposed_communication->count();
    json["slowest_rank"] = metrics.slowest_rank;
  }
  if (!metrics.peak_memory_mib.empty()) json["peak_memory_mib"] = metrics.peak_memory_mib;
  if (!metrics.sample_ids.empty()) json["sample_ids"] = metrics.sample_ids;
  return json;
}

}  // namespace

const char* name_of(Unit unit) noexcept { return unit == Unit::kSamples ? "samples" : "tokens"; }

double StepMetrics::count_per_s() const noexcept {
  return duration.count() > 0 ? static_cast<double>(count) / duration.count() * 1e3 : 0.0;
}

StepMetrics::Milliseconds StepMetrics::own_time() const noexcept {
  return duration - exposed_communication.value_or(Milliseconds(0));
}

std::string to_line(const StepMetrics& metrics) { return dump_json(to_ordered_json(metrics)); }

Scalars scalars_of(const StepMetrics& metrics) {
  Scalars scalars;
  const nlohmann::ordered_json json = to_ordered_json(metrics);
  for (const auto& [name, value] : json.items())
    if (value.is_number() && name != "step") scalars[name] = value.get<double>();
  for (const auto& [name, score] : metrics.scores) scalars["scores/" + name] = score;
  return scalars;
}

StepMetrics parse_metrics_line(std::string_view line) {
  try {
    return from_json(parse_json(line));
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("not a line of metrics.jsonl: ", error.what()));
  }
}

std::vector<StepMetrics> read_metrics(const std::filesystem::path& path) {
  std::vector<StepMetrics> all;
  for_each_json_line(path, [&all](const nlohmann::json& json, std::string_view /*line*/) {
    StepMetrics metrics = from_json(json);
    while (!all.empty() && all.back().step >= metrics.step) all.pop_back();
    all.push_back(std::move(metrics));
  });
  return all;
}

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t last_step) : path_(std::move(path)) {
  try {
    if (std::filesystem::exists(path_)) keep_lines(last_step);
  } catch (const std::exception& error) {
    Logger().warning(concat(path_.string(), " stays as it is, and the run's steps are added to it: ", error.what()));
    is_torn_ = true;
  }
}

// Lines are kept verbatim, including fields that other programs added.
void MetricsFile::keep_lines(std::int64_t last_step) {
  std::vector<std::pair<std::int64_t, std::string>> kept;
  for_each_json_line(path_, [&](const nlohmann::json& json, std::string_view line) {
    StepMetrics metrics = from_json(json);
    if (metrics.step > last_step) return;
    while (!kept.empty() && kept.back().first >= metrics.step) kept.pop_back();
    kept.emplace_back(metrics.step, line);
    last_kept_ = std::move(metrics);
  });
  std::string text;
  for (const auto& [step, line] : kept) text.append(line).append("\n");
  replace_file(path_, text);
}

void MetricsFile::write(const StepMetrics& metrics) {
  // A failed write may have left part of a line.
  const std::string line = (is_torn_ ? "\n" : "") + to_line(metrics) + "\n";
  if (file_.is_open() && !is_still_at(path_, file_.get())) file_.reset();
  try {
    if (!file_.is_open()) file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_.is_open()) throw IoError(concat("opening ", path_.string()), errno);
    write_all(file_.get(), line, path_);
    is_torn_ = false;
    has_warned_ = false;
  } catch (const IoError& error) {
    is_torn_ = true;
    file_.reset();
    if (!has_warned_) Logger().warning(concat("the run goes on, but steps are missing in its log: ", error.what()));
    has_warned_ = true;
  }
}

}  // namespace lockstep::run

#include "run/metrics.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

using Milliseconds = StepMetrics::Milliseconds;

Milliseconds milliseconds(const nlohmann::json& json, const char* name) {
  return Milliseconds(json.at(name).get<double>());
}

StepMetrics from_json(const nlohmann::json& json) {
  StepMetrics metrics;
  json.at("step").get_to(metrics.step);
  json.at("epoch").get_to(metrics.epoch);
  json.at("loss").get_to(metrics.loss);
  json.at("learning_rate").get_to(metrics.learning_rate);
  if (json.contains("gradient_norm")) metrics.gradient_norm = json["gradient_norm"].get<double>();
  metrics.unit = json.contains(name_of(Unit::kSamples)) ? Unit::kSamples : Unit::kTokens;
  json.at(name_of(metrics.unit)).get_to(metrics.count);
  metrics.duration = milliseconds(json, "step_ms");
  metrics.data_wait = milliseconds(json, "data_wait_ms");
  metrics.forward = milliseconds(json, "forward_ms");
  metrics.backward = milliseconds(json, "backward_ms");
  metrics.update = milliseconds(json, "update_ms");
  if (json.contains("validation_loss")) metrics.validation_loss = json["validation_loss"].get<double>();
  if (json.contains("scores")) json["scores"].get_to(metrics.scores);
  if (json.contains("exposed_communication_ms")) {
    metrics.exposed_communication = milliseconds(json, "exposed_communication_ms");
  }
  metrics.slowest_rank = json.value("slowest_rank", 0);
  if (json.contains("peak_memory_mib")) json["peak_memory_mib"].get_to(metrics.peak_memory_mib);
  if (json.contains("sample_ids")) json["sample_ids"].get_to(metrics.sample_ids);
  return metrics;
}

}  // namespace

const char* name_of(Unit unit) noexcept { return unit == Unit::kSamples ? "samples" : "tokens"; }

double StepMetrics::count_per_s() const noexcept {
  return duration.count() > 0 ? static_cast<double>(count) / duration.count() * 1e3 : 0.0;
}

StepMetrics::Milliseconds StepMetrics::own_time() const noexcept {
  return duration - exposed_communication.value_or(Milliseconds(0));
}

std::string to_line(const StepMetrics& metrics) {
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
  return dump_json(json);
}

StepMetrics parse_metrics_line(std::string_view line) {
  try {
    return from_json(parse_json(line));
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("not a line of metrics.jsonl: ", error.what()));
  }
}

std::vector<StepMetrics> read_metrics(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  std::vector<StepMetrics> all;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    try {
      all.push_back(parse_metrics_line(std::string_view(text).substr(begin, end - begin)));
    } catch (const FormatError& error) {
      throw FormatError(concat(path.string(), ":", all.size() + 1, ": ", error.what()));
    }
    begin = end + 1;
  }
  return all;
}

MetricsFile::MetricsFile(const std::filesystem::path& path, std::int64_t last_step) : path_(path) {
  std::string kept;
  if (std::filesystem::exists(path)) {
    for (const StepMetrics& metrics : read_metrics(path)) {
      if (metrics.step <= last_step) kept += to_line(metrics) + "\n";
    }
  }
  replace_file(path, kept);
  file_.open(path, std::ios::app | std::ios::binary);
  if (!file_) throw IoError(concat("cannot write ", path.string()), errno);
}

void MetricsFile::write(const StepMetrics& metrics) {
  file_ << to_line(metrics) + "\n" << std::flush;
  if (!file_) throw IoError(concat("cannot write ", path_.string()), errno);
}

}  // namespace lockstep::run

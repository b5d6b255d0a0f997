#pragma once
/// @file
/// Prometheus' text format.
#include <string>
#include <utility>
#include <vector>

namespace lockstep::launch {

/// Collects samples by metric, so that each metric is written once with its help and type, in any order of samples. A
/// value type.
/// @source  https://prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
class MetricsText {
 public:
  enum class Type { kGauge, kCounter };
  /// Names and values; values may be any text.
  using Labels = std::vector<std::pair<std::string, std::string>>;

  /// Begins a metric, to which the next samples of that name belong. @param name  "lockstep_step".
  void declare(const std::string& name, Type type, const std::string& help);
  /// @param name  Declared. @param value  Finite or not: "NaN", "+Inf" and "-Inf" are part of the format.
  /// @throws ContractError  `name` has not been declared.
  void add(const std::string& name, const Labels& labels, double value);

  /// All metrics that have samples, in the order of their declarations.
  [[nodiscard]] std::string text() const;

 private:
  struct Metric {
    std::string name, head, samples;
  };
  std::vector<Metric> metrics_;
};

}  // namespace lockstep::launch

#include "launch/watching/metrics_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

std::string escaped(const std::string& text, bool is_label) {
  std::string result;
  for (const char character : text) {
    if (character == '\n') {
      result += "\\n";
    } else {
      if (character == '\\' || (is_label && character == '"')) result += '\\';
      result += character;
    }
  }
  return result;
}

// The shortest text that parses to the same number.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

}  // namespace

void MetricsText::declare(const std::string& name, Type type, const std::string& help) {
  metrics_.push_back({name,
                      concat("# HELP ", name, " ", escaped(help, false), "\n# TYPE ", name, " ",
                             type == Type::kGauge ? "gauge" : "counter", "\n"),
                      ""});
}

void MetricsText::add(const std::string& name, const Labels& labels, double value) {
  const auto metric = std::ranges::find(metrics_, name, &Metric::name);
  require(metric != metrics_.end(), "MetricsText: ", name, " has not been declared");
  std::string list;
  for (const auto& [label, text] : labels)
    list += concat(list.empty() ? "" : ",", label, "=\"", escaped(text, true), "\"");
  metric->samples += concat(name, list.empty() ? "" : "{" + list + "}", " ", number(value), "\n");
}

std::string MetricsText::text() const {
  std::string all;
  for (const Metric& metric : metrics_) {
    if (!metric.samples.empty()) all += metric.head + metric.samples;
  }
  return all;
}

}  // namespace lockstep::launch

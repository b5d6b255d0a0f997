// The trackers whose files people read: JSON lines and comma-separated values.
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "08_accelerate/tracking/record_file.hpp"
#include "08_accelerate/tracking/scalar_names.hpp"
#include "08_accelerate/tracking/tracker.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

namespace lockstep::accelerate {
namespace {

class JsonLinesTracker final : public Tracker {
 public:
  explicit JsonLinesTracker(const std::filesystem::path& folder) : file_(folder / "metrics.jsonl", Records::kLines) {}

  void log(const Scalars& values, std::int64_t step) override {
    nlohmann::ordered_json line{{kStep, step}};
    for (const auto& [name, value] : named_scalars(values, kStep)) line[name] = value;
    file_.append(dump_json(line) + "\n");
  }

 private:
  static constexpr const char* kStep = "step";

  RecordFile file_;
};

// The shortest text that reads as the same number.
std::string text_of(double value) {
  if (std::isnan(value)) return "nan";  // its sign has no meaning
  std::string text(32, '\0');
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

// Quoted as in RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

class CsvTracker final : public Tracker {
 public:
  explicit CsvTracker(const std::filesystem::path& folder) : file_(folder / "metrics.csv", Records::kLines) {
    if (file_.is_new()) file_.append("step,name,value\n");
  }

  void log(const Scalars& values, std::int64_t step) override {
    std::string lines;
    for (const auto& [name, value] : named_scalars(values))
      lines += concat(step, ',', field(name), ',', text_of(value), '\n');
    file_.append(lines);
  }

 private:
  RecordFile file_;
};

}  // namespace

std::unique_ptr<Tracker> make_json_lines_tracker(const std::filesystem::path& folder) {
  return std::make_unique<JsonLinesTracker>(folder);
}

std::unique_ptr<Tracker> make_csv_tracker(const std::filesystem::path& folder) {
  return std::make_unique<CsvTracker>(folder);
}

std::unique_ptr<Tracker> make_tracker(std::string_view name, const std::filesystem::path& folder) {
  if (name == "jsonl") return make_json_lines_tracker(folder);
  if (name == "csv") return make_csv_tracker(folder);
  if (name == "tensorboard") return make_tensorboard_tracker(folder);
  throw UsageError(concat("there is no tracker '", name, "'; the trackers are jsonl, csv and tensorboard"));
}

}  // namespace lockstep::accelerate

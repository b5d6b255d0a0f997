// The tracker whose file people and other programs read: JSON lines.
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.hpp"
#include "run/record_file.hpp"
#include "run/scalar_names.hpp"
#include "run/tracker.hpp"

namespace lockstep::run {
namespace {

class JsonLinesTracker final : public Tracker {
 public:
  explicit JsonLinesTracker(const std::filesystem::path& folder) : path_(folder / "metrics.jsonl") {}

  void log(const Scalars& values, std::int64_t step) override {
    nlohmann::ordered_json line{{kStep, step}};
    for (const auto& [name, value] : named_scalars(values, kStep)) line[name] = value;
    if (!file_.is_in_place()) file_ = RecordFile(path_, Records::kLines);
    file_.append(dump_json(line) + "\n");
  }

 private:
  static constexpr const char* kStep = "step";

  std::filesystem::path path_;
  RecordFile file_{path_, Records::kLines};
};

}  // namespace

std::unique_ptr<Tracker> make_json_lines_tracker(const std::filesystem::path& folder) {
  return std::make_unique<JsonLinesTracker>(folder);
}

}  // namespace lockstep::run

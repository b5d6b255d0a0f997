#include "exercise_tool/loss_log.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/json_lines.hpp"
#include "base/log.hpp"

namespace lockstep::exercise {

std::vector<LoggedStep> read_loss_log(const std::filesystem::path& run) {
  const std::filesystem::path file = run / "metrics.jsonl";
  std::vector<LoggedStep> steps;
  try {
    if (!std::filesystem::exists(file)) return steps;
    for_each_json_line(file, [&steps](const nlohmann::json& json, std::string_view /*line*/) {
      const nlohmann::json& loss = json.at("loss");
      const double value = loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : loss.get<double>();
      const auto rate = json.find("tokens_per_s");
      steps.push_back({value, rate != json.end() && rate->is_number() ? rate->get<double>() : 0});
    });
  } catch (const std::exception& error) {
    Logger().warning(error.what());
  }
  return steps;
}

}  // namespace lockstep::exercise

#include "run/option_checks.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "data/tokenizer.hpp"
#include "device/device.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

// Accepts what `parse` does; a file that it names must be readable.
template <typename Parse>
OptionCheck parsed_by(Parse parse) {
  return [parse](const std::string& text) -> std::string {
    try {
      const std::string file = parse(text);
      return file.empty() ? "" : readable_file()(file);
    } catch (const FormatError& error) {
      return error.what();
    }
  };
}

// A run of any task: the required one is not known here.
bool has_run(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (latest_run(folder, task_of(entry.path()))) return true;
  return false;
}

}  // namespace

OptionCheck device_name() {
  return parsed_by([](const std::string& text) {
    (void)Device::parse(text);
    return std::string();
  });
}

OptionCheck tokenizer_spec() {
  return parsed_by([](const std::string& text) { return data::parse_tokenizer_spec(text).file; });
}

OptionCheck readable_file_or(std::string word) {
  return [word = std::move(word)](const std::string& text) -> std::string {
    const std::string problem = text == word ? "" : readable_file()(text);
    return problem.empty() ? "" : concat(problem, " (the only data without a file are called ", word, ")");
  };
}

OptionCheck matmul_algorithms() {
  return [](const std::string& text) -> std::string {
    const std::string problem = text == "first" || text == "timed" ? "" : readable_file()(text);
    return problem.empty() ? "" : concat(problem, "; use first, timed, or the file of a table");
  };
}

OptionCheck run_folder() {
  return [](const std::string& text) -> std::string {
    if (std::filesystem::is_regular_file(std::filesystem::path(text) / "metrics.jsonl") || has_run(text)) return "";
    return concat("'", text, "' is not the folder of a run (it has no metrics.jsonl), and there is no run in it");
  };
}

}  // namespace lockstep::run

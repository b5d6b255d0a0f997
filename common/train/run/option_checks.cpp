#include "run/option_checks.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "data/tokenizer.hpp"
#include "device/device.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

// Accepts what `parse` accepts. If `parse` returns the name of a file, that must be readable.
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

// Whether there is a run of any task in the folder; the task that the program needs is not known here.
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
    return problem.empty() ? "" : concat(problem, " (only the data called ", word, " need no file)");
  };
}

OptionCheck matmul_algorithms() {
  return [](const std::string& text) -> std::string {
    const std::string problem = text == "first" || text == "timed" ? "" : readable_file()(text);
    return problem.empty() ? "" : concat(problem, "; use first, timed, or a file with a table of algorithms");
  };
}

OptionCheck run_folder() {
  return [](const std::string& text) -> std::string {
    if (std::filesystem::is_regular_file(std::filesystem::path(text) / "metrics.jsonl") || has_run(text)) return "";
    return concat("'", text, "' is neither the folder of a run (it has no metrics.jsonl) nor a folder with runs");
  };
}

}  // namespace lockstep::run

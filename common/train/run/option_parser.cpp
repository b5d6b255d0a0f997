#include "run/option_parser.hpp"

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

std::string program_name(const char* const* argv) {
  return environment::get("LOCKSTEP_PROGRAM").value_or(fs::path(argv[0]).filename().string());
}

void add_option(CommandLine& line, const OptionDeclaration& declared) {
  const auto add = [&]<typename T>(T* field) {
    if constexpr (std::same_as<T, bool>) {
      line.add_flag(declared.name, *field, declared.help);
    } else {
      const CommandLine::Option option = line.add_option(declared.name, *field, declared.help);
      if (declared.check) option.check(declared.check);
      if (declared.value_name != nullptr) option.type_name(declared.value_name);
      if (!declared.shows_default) option.without_default();
      if (declared.at_most > 0) option.at_most(declared.at_most);
    }
  };
  std::visit(add, declared.field);
}

std::string name_of(const std::string& task) { return task.empty() ? "a GPT" : task; }

}  // namespace

OptionParser::OptionParser(int argc, const char* const* argv, const std::string& description, const OptionList& list)
    : line_(description, program_name(argv)) {
  for (const OptionDeclaration& declared : list)
    if (declared.is_on_command_line()) add_option(line_, declared);
  line_
      .add_option(
          "--resume", resume_,
          "Continue a run: its folder, or one of its checkpoints (RUN/checkpoints/step_...), or the latest run in "
          "--out if left out; auto: that one if there is one, else a new run, for a launcher that restarts the program")
      .allow_no_value()
      .type_name("[FOLDER]");
  exit_code_ = line_.parse(argc, argv);
  if (!exit_code_ && line_.is_given("--steps") && line_.is_given("--epochs"))
    throw UsageError("--steps and --epochs both say how long to train: give one of them");
}

std::optional<RunAndCheckpoint> OptionParser::run_to_resume(const RunOptions& options) const {
  if (!line_.is_given("--resume") && !options.resumes_latest) return std::nullopt;
  const bool may_begin = resume_ == "auto" || !line_.is_given("--resume");
  if (!resume_.empty() && !may_begin) {
    const RunAndCheckpoint named = find_run(resume_);
    require_run(named.run, options.task);
    return named;
  }
  const std::optional<fs::path> latest = latest_run(options.output.folder, options.task);
  if (latest) return RunAndCheckpoint{.run = *latest, .checkpoint = {}};
  if (may_begin) return std::nullopt;
  const std::string of_task = options.task.empty() ? "" : " of the task " + options.task;
  throw UsageError(concat("--resume: no run", of_task, " with a checkpoint in ", options.output.folder.string(),
                          "; name a run's folder or --out"));
}

void read_run_options(const fs::path& run, const std::string& task, const OptionList& list) {
  const nlohmann::json options = read_options(run);
  const bool has_task = options.is_object() && options.contains("task") && options["task"].is_string();
  const std::string other = has_task ? options["task"].get<std::string>() : "";
  if (other != task) {
    throw UsageError(concat("--resume: ", run.string(), " has trained ", name_of(other), ", and this program trains ",
                            name_of(task), "; name one of its own runs"));
  }
  read_json(options, list);
}

// Options that have shaped the weights may not change on resume.
void require_same_run(const OptionList& now, const OptionList& then, const fs::path& run) {
  const nlohmann::json new_values = values_of(now), old_values = values_of(then);
  for (const OptionDeclaration& option : then) {
    if (option.kind != OptionKind::kFixed) continue;
    const nlohmann::json& old_value = old_values.at(option.json_name());
    if (new_values.at(option.json_name()) == old_value) continue;
    const std::string text = old_value.is_string() ? old_value.get<std::string>() : dump_json(old_value);
    throw UsageError(concat("--resume: ", run.string(), " was trained ", text.empty() ? "without " : "with ",
                            option.name, text.empty() ? "" : " ", text, "; leave the option out, or start a new run"));
  }
}

int run_guarded_training(const char* const* argv, const std::function<int()>& body) noexcept {
  return run_guarded(program_name(argv), body);
}

bool only_checks_options(const RunOptions& options) {
  if (!environment::get("LOCKSTEP_CHECK_OPTIONS")) return false;
  options.require_divisible_batch(environment::get_int("WORLD_SIZE", 1, INT32_MAX).value_or(1));
  return true;
}

}  // namespace lockstep::run

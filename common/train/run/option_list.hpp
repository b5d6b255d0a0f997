#pragma once
/// @file
/// The single list of a training program's options, used by the command line, --help, options.json and --resume.
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "base/option_checks.hpp"
#include "run/run_options.hpp"

namespace lockstep::run {

/// A member of the options. Its value before the command line is read is the default. A bool is a flag.
using OptionField = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                 std::filesystem::path*, std::vector<std::filesystem::path>*>;

/// Where an option comes from, and how it behaves when the run is resumed.
enum class OptionKind {
  kChangeable,  ///< In options.json: a resumed run uses it unless the command line overrides it.
  kFixed,       ///< In options.json: it has shaped the weights, so a resumed run may not change it.
  kRecorded,    ///< In options.json but not on the command line: determined by the run itself.
  kThisTime,    ///< Not in options.json: applies to this start of the program only.
  kLayout,      ///< As kThisTime: how this start's ranks divide the work. Part of the commands that go on with the run.
};

/// An option's properties; its type and default are those of the field.
struct OptionDeclaration {
  OptionField field;
  std::string name;                           ///< "--keep-last"; for a flag also "--async-save,!--no-async-save".
  std::string help = "";                      ///< For --help, without a period.
  OptionCheck check = nullptr;                ///< Of each value; null: anything that the field can hold.
  const char* value_name = nullptr;           ///< In --help; null: chosen by the field's type.
  bool shows_default = true;                  ///< --help shows the field's value.
  int at_most = 0;                            ///< Maximum number of a vector's values; 0: no limit.
  OptionKind kind = OptionKind::kChangeable;  ///< Where it comes from; whether a resumed run may change it.
  bool is_new = false;                        ///< Takes its default in runs made before the option existed.

  /// The key in options.json: "keep_last".
  [[nodiscard]] std::string json_name() const;
  /// True if options.json has it.
  [[nodiscard]] bool is_saved() const noexcept { return kind != OptionKind::kThisTime && kind != OptionKind::kLayout; }
  /// True if the command line has it.
  [[nodiscard]] bool is_on_command_line() const noexcept { return kind != OptionKind::kRecorded; }
};

/// Options in the order of --help.
using OptionList = std::vector<OptionDeclaration>;

/// The options of a topic, for programs that obey them.
/// @param options  Must outlive the result, here and below.
[[nodiscard]] OptionList loop_options(RunOptions& options);
[[nodiscard]] OptionList optimizer_options(OptimizerOptions& optimizer);  ///< For make_optimizer() and clipping.
[[nodiscard]] OptionList learning_rate_options(LearningRateOptions& learning_rate);  ///< For RunOptions::schedule().
[[nodiscard]] OptionList device_options(DeviceOptions& device);
[[nodiscard]] OptionList parallel_options(ParallelOptions& parallel);  ///< For data-parallel programs.
[[nodiscard]] OptionList checkpoint_options(CheckpointOptions& checkpoints);
[[nodiscard]] OptionList output_options(OutputOptions& output);

/// Concatenates the lists.
[[nodiscard]] OptionList join(std::initializer_list<OptionList> topics);

/// The options of a program that has no others: all that a run handles itself, except --resume. A program that derives
/// an options struct from RunOptions overloads this function next to it:
/// ```cpp
/// struct Options : run::RunOptions {
///   std::int64_t hidden = 64;
/// };
/// run::OptionList list_options(Options& options) {
///   return run::join({run::list_options(static_cast<run::RunOptions&>(options)),
///                     {{.field = &options.hidden, .name = "--hidden", .help = "Width", .kind = OptionKind::kFixed}}});
/// }
/// ```
/// @param options  Must outlive the result.
[[nodiscard]] OptionList list_options(RunOptions& options);

/// The values of the saved options, for options.json.
[[nodiscard]] nlohmann::json values_of(const OptionList& list);
/// Fills the fields of the list from an options.json.
/// @throws FormatError  An entry is missing, unless the option is new, or has another type.
void read_json(const nlohmann::json& json, const OptionList& list);

/// The options of kind kLayout whose values differ from the defaults, as on a command line: " --tensor 2 --pipeline 2".
/// @param given, defaults  The same options in the same order.
[[nodiscard]] std::string layout_words(const OptionList& given, const OptionList& defaults);

/// For options.json: all saved options. @return  A nlohmann::json.
template <std::derived_from<RunOptions> Options>
[[nodiscard]] auto to_json(const Options& options) {
  Options copy = options;  // the list's fields must be writable
  return values_of(list_options(copy));
}

}  // namespace lockstep::run

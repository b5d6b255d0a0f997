#pragma once
/// @file
/// The one list of a training program's options: what the command line, --help, options.json and --resume know of them.
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

/// A member of the options. What it holds when the command line is read is its default. A bool is a flag.
using OptionField = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                 std::filesystem::path*, std::vector<std::filesystem::path>*>;

/// Where an option comes from, and what becomes of it when the run is resumed.
enum class OptionKind {
  kChangeable,  ///< In options.json: a resumed run continues with it unless the command line says otherwise.
  kFixed,       ///< In options.json: has shaped the weights, so a resumed run may not change it.
  kRecorded,    ///< In options.json, but not on the command line: found by the run itself.
  kThisTime,    ///< Not in options.json: holds for this start of the program only.
};

/// Everything there is to say of an option beside its field's type and default.
struct OptionDeclaration {
  OptionField field;                          ///< Where the value goes and comes from.
  std::string name;                           ///< "--keep-last"; of a flag "--async-save,!--no-async-save" too.
  std::string help = "";                      ///< For --help, without a period.
  OptionCheck check = nullptr;                ///< Of each value; null: whatever the field can hold.
  const char* value_name = nullptr;           ///< In --help; null: by the field's type.
  bool shows_default = true;                  ///< --help shows what the field holds.
  int at_most = 0;                            ///< Values that a vector takes; 0: any number.
  OptionKind kind = OptionKind::kChangeable;  ///< Where it comes from, and what a resumed run may do.
  bool is_new = false;                        ///< Runs from before there was this option have its default.

  /// The entry in options.json: "keep_last".
  [[nodiscard]] std::string json_name() const;
  /// Whether options.json has it.
  [[nodiscard]] bool is_saved() const noexcept { return kind != OptionKind::kThisTime; }
  /// Whether the command line has it.
  [[nodiscard]] bool is_on_command_line() const noexcept { return kind != OptionKind::kRecorded; }
};

/// Options in the order of --help.
using OptionList = std::vector<OptionDeclaration>;

/// --batch-size, --accumulation-steps, --steps, --epochs, --uneven, --seed, --stop-after.
/// @param options  Outlives what is returned, here and below.
[[nodiscard]] OptionList loop_options(RunOptions& options);
/// --optimizer and what it takes: of programs that call make_optimizer() and clip with max_gradient_norm().
[[nodiscard]] OptionList optimizer_options(OptimizerOptions& optimizer);
/// --learning-rate and its schedule: of programs that step with RunOptions::schedule().
[[nodiscard]] OptionList learning_rate_options(LearningRateOptions& learning_rate);
/// --device, --share-gpu, --bind-cores.
[[nodiscard]] OptionList device_options(DeviceOptions& device);
/// --backend, --compress-gradients, --check-replicas, --no-sync: of programs that are data-parallel.
[[nodiscard]] OptionList parallel_options(ParallelOptions& parallel);
/// --save-every, --keep-last, --async-save.
[[nodiscard]] OptionList checkpoint_options(CheckpointOptions& checkpoints);
/// --out, --validate-every, --compare, --export-initial, --log-batches.
[[nodiscard]] OptionList output_options(OutputOptions& output);

/// One list after the other.
[[nodiscard]] OptionList join(std::initializer_list<OptionList> topics);

/// The options of a program that has no others: those that a run fulfils by itself, but --resume. A program whose
/// options are a struct of its own, derived from RunOptions, overloads this function beside it:
/// ```cpp
/// struct Options : run::RunOptions {
///   std::int64_t hidden = 64;
/// };
/// run::OptionList list_options(Options& options) {
///   return run::join({run::list_options(static_cast<run::RunOptions&>(options)),
///                     {{.field = &options.hidden, .name = "--hidden", .help = "Width", .kind = OptionKind::kFixed}}});
/// }
/// ```
/// @param options  Outlives what is returned.
[[nodiscard]] OptionList list_options(RunOptions& options);

/// What options.json has of the list.
[[nodiscard]] nlohmann::json values_of(const OptionList& list);
/// Fills the fields of the list from an options.json.
/// @throws FormatError  An entry is missing, unless the option is new, or has another type.
void read_json(const nlohmann::json& json, const OptionList& list);

/// For options.json: everything that is not for one start of the program only. @return  A nlohmann::json.
template <std::derived_from<RunOptions> Options>
[[nodiscard]] auto to_json(const Options& options) {
  Options copy = options;  // the list is of fields that may be written
  return values_of(list_options(copy));
}

}  // namespace lockstep::run

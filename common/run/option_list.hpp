#pragma once
/// @file
/// The one list of a training program's options: what the command line, --help, options.json and --resume know of them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "base/option_checks.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {

/// A member of TrainOptions. What it holds when the command line is read is its default. A bool is a flag.
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

/// All options but --resume, in the order of --help. @param options  Outlives what is returned.
[[nodiscard]] std::vector<OptionDeclaration> list_options(TrainOptions& options);

}  // namespace lockstep::run

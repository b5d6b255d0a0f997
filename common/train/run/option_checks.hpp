#pragma once
/// @file
/// Option checks for training programs only; base/option_checks.hpp has the others.
#include <string>

#include "base/option_checks.hpp"

namespace lockstep::run {

/// A name that Device::parse() accepts.
[[nodiscard]] OptionCheck device_name();

/// A readable file, or `word` itself.
[[nodiscard]] OptionCheck readable_file_or(std::string word);

/// "first", "timed", or a readable file.
[[nodiscard]] OptionCheck matmul_algorithms();

/// A spec that data::parse_tokenizer_spec() accepts; a file must be readable.
[[nodiscard]] OptionCheck tokenizer_spec();

/// A run folder (it has metrics.jsonl), or a folder of runs.
[[nodiscard]] OptionCheck run_folder();

}  // namespace lockstep::run

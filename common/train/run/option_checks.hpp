#pragma once
/// @file
/// Checks of what only programs that train have for options: base/option_checks.hpp's, continued.
#include <string>

#include "base/option_checks.hpp"

namespace lockstep::run {

/// A name that Device::parse() reads.
[[nodiscard]] OptionCheck device_name();

/// A file that can be read, or the word itself.
[[nodiscard]] OptionCheck readable_file_or(std::string word);

/// What data::parse_tokenizer_spec() reads; a file must be readable.
[[nodiscard]] OptionCheck tokenizer_spec();

/// A run folder (it has metrics.jsonl), or a folder of runs.
[[nodiscard]] OptionCheck run_folder();

}  // namespace lockstep::run

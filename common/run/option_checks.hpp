#pragma once
/// @file
/// Checks for the values of options, whose messages say what would be right.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::run {

/// A whole number in [minimum, maximum].
[[nodiscard]] CLI::Validator whole_number(std::int64_t minimum, std::int64_t maximum = INT64_MAX);

/// A finite number in [minimum, maximum].
[[nodiscard]] CLI::Validator real_number(double minimum, double maximum = 1e300);

/// One of `values`; the answer to another value names the nearest one.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> values);

/// A name that Device::parse() reads.
[[nodiscard]] CLI::Validator device_name();

/// A file that can be read.
[[nodiscard]] CLI::Validator readable_file();

/// A file that can be read, or the word itself.
[[nodiscard]] CLI::Validator readable_file_or(std::string word);

/// What data::parse_tokenizer_spec() reads; a file must be readable.
[[nodiscard]] CLI::Validator tokenizer_spec();

/// A run folder (it has metrics.jsonl), or a folder of runs.
[[nodiscard]] CLI::Validator run_folder();

}  // namespace lockstep::run

#pragma once
/// @file
/// Reads logs of one JSON value per line, even if a crash, a full disk or another program has damaged some lines.
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockstep {

/// Takes one line: its value, and its text without zero bytes and line feed. Throws FormatError or
/// nlohmann::json::exception to refuse a line.
using UseJsonLine = std::function<void(const nlohmann::json& value, std::string_view line)>;

/// Passes every readable line of a file to `use`, in order. Numbers that JSON lacks (NaN, Infinity, -Infinity, as
/// Python writes them) become null. Zero bytes around a line, which a power failure leaves, are ignored.
///
/// Skips blank lines and a truncated last line. Other lines that cannot be read, or that `use` refuses, are left out:
/// one warning gives their number and the error in the first.
/// @throws IoError  The file cannot be read.
void for_each_json_line(const std::filesystem::path& path, const UseJsonLine& use);

}  // namespace lockstep

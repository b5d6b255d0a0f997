#pragma once
/// @file
/// Logs of one JSON value per line, read although a crash, a full disk or another program has left its marks.
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace lockstep {

/// Takes one line: its value, and its text without zero bytes and line feed. Throws FormatError or
/// nlohmann::json::exception for a line that is not what it should be.
using UseJsonLine = std::function<void(const nlohmann::json& value, std::string_view line)>;

/// Gives every readable line of a file to `use`, in order. Numbers that JSON does not have (NaN, Infinity, -Infinity,
/// as Python writes them) become null. Zero bytes around a line, which a power failure leaves, do not count.
///
/// Blank lines are passed over, and so is a last line that was cut off. Other lines that cannot be read, or that `use`
/// refuses, are left out: one warning says how many, and what is wrong with the first.
/// @throws IoError  The file cannot be read.
void for_each_json_line(const std::filesystem::path& path, const UseJsonLine& use);

}  // namespace lockstep

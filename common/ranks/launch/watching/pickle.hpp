#pragma once
/// @file
/// Python's pickle format, for programs of the Python world that read nothing else.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::launch {

/// Bytes that Python's pickle.load() reads as `value`: None, bool, int, float, str, list and dict.
/// @source  Protocol 2; Lib/pickletools.py of CPython documents each of its operations.
[[nodiscard]] std::string to_pickle(const nlohmann::json& value);

}  // namespace lockstep::launch

#pragma once
// The content of a FileStore's file, one record per change (docs/wire_format.md). Internal to this module.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::store {

// One change.
struct LogRecord {
  std::string key;
  std::optional<std::string> value;  // empty: the key is erased

  bool operator==(const LogRecord&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const LogRecord& record);

// Applies the complete, undamaged records at the beginning of `bytes` to `values`. Returns their size; data after them
// was cut off when its writer was killed.
[[nodiscard]] std::size_t replay(std::span<const std::byte> bytes, std::map<std::string, std::string>& values);

}  // namespace lockstep::store

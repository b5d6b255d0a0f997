#pragma once
/// @file
/// Names of checkpoints, and which of them are kept. Internal to this module.
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::checkpoint {

/// Prefix of a checkpoint that is being written; a killed writer leaves it behind.
inline constexpr const char* kIncompletePrefix = ".incomplete_";

/// Orders checkpoints.
struct Order {
  std::int64_t step = 0;
  std::int64_t attempt = 1;  ///< Counts the checkpoints of that step.
  auto operator<=>(const Order&) const = default;
};

/// "step_00000500", or "step_00000500.2" for a second attempt.
[[nodiscard]] std::string folder_name(const Order& order);

/// The reverse; nothing for a name that folder_name() does not make.
[[nodiscard]] std::optional<Order> parse_folder_name(const std::string& name);

/// The name that a checkpoint had before set_aside(); returns other names unchanged.
[[nodiscard]] std::string without_aside(const std::string& name);

/// All checkpoints in `root`, ascending; none if there is no such folder. @throws IoError  It cannot be read.
[[nodiscard]] std::vector<Order> find_checkpoints(const std::filesystem::path& root);

/// Removes the leftovers of a killed writer. Here and below, errors are logged: a clean-up never ends a run.
void remove_leftovers(const std::filesystem::path& root) noexcept;

/// Renames a checkpoint from an abandoned part of the run so that nothing finds it.
/// @return  Whether it worked.
[[nodiscard]] bool set_aside(const std::filesystem::path& root, const Order& order) noexcept;

/// Keeps `newest` and those before it, `keep_last` in all. Sets those of higher steps aside: the run was resumed from
/// an earlier step, and they are no longer part of its history.
/// @param untouched  Checkpoints to ignore.
void remove_old(const std::filesystem::path& root, int keep_last, const Order& newest,
                std::span<const Order> untouched) noexcept;

}  // namespace lockstep::checkpoint

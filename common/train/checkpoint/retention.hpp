#pragma once
/// @file
/// Names of checkpoints, and which of them stay. Internal to this module.
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::checkpoint {

/// What begins with this is being written; a killed writer leaves it behind.
inline constexpr const char* kIncompletePrefix = ".incomplete_";

/// The place of a checkpoint among others.
struct Order {
  std::int64_t step = 0;     ///< Of the training.
  std::int64_t attempt = 1;  ///< Counts the checkpoints of that step.
  auto operator<=>(const Order&) const = default;
};

/// "step_00000500", or "step_00000500.2" for a second attempt.
[[nodiscard]] std::string folder_name(const Order& order);

/// The reverse; nothing for a name that folder_name() does not make.
[[nodiscard]] std::optional<Order> parse_folder_name(const std::string& name);

/// The name that a checkpoint had before set_aside(); other names as they are.
[[nodiscard]] std::string without_aside(const std::string& name);

/// All checkpoints in `root`, rising; none if there is no such folder. @throws IoError  It cannot be read.
[[nodiscard]] std::vector<Order> find_checkpoints(const std::filesystem::path& root);

/// Removes what a killed writer has left. Here and below, what fails is logged: a clean-up never ends a run.
void remove_leftovers(const std::filesystem::path& root) noexcept;

/// Gives a checkpoint of a part of the run that is no longer its history a name that nobody looks for.
/// @return  Whether it worked.
[[nodiscard]] bool set_aside(const std::filesystem::path& root, const Order& order) noexcept;

/// Keeps `newest` and those before it, `keep_last` in all. Those of higher steps are set aside: the run was resumed
/// from an earlier step, and what it did after that is no longer its history.
/// @param untouched  Checkpoints that neither count nor change.
void remove_old(const std::filesystem::path& root, int keep_last, const Order& newest,
                std::span<const Order> untouched) noexcept;

}  // namespace lockstep::checkpoint

#pragma once
/// @file
/// Given: the function of exercise 08.4 as its callers see it, and the folder of checkpoints on a disk that can fail.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::accelerate {

/// The folder in which a training run keeps its checkpoints. The power can fail during every call: then remove() and
/// rename() have been done or not, but a write() may have been done by half, and what has not been flushed is damaged.
class CheckpointStore {
 public:
  CheckpointStore() = default;
  virtual ~CheckpointStore() = default;
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  /// Writes models, optimizers and everything else as a checkpoint called `name`. Any earlier one of this name is gone.
  /// @throws IoError  The disk is full; a part of it may have been written.
  virtual void write(const std::string& name) = 0;
  /// Returns when all of a checkpoint is on the disk, not only in the operating system's memory. As fsync().
  virtual void flush(const std::string& name) = 0;
  /// Reads a checkpoint and compares it with the checksums of what was to be written. Only what has been flushed is
  /// read from the disk itself.
  /// @return  Whether they agree: a disk can write something else, and notice nothing.
  [[nodiscard]] virtual bool verify(const std::string& name) = 0;
  /// Gives a checkpoint another name. A checkpoint that has that name already is replaced.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Removes a checkpoint. Nothing happens if there is none.
  virtual void remove(const std::string& name) = 0;
  /// The names of everything in the folder, in alphabetical order. People may have put other things there.
  [[nodiscard]] virtual std::vector<std::string> list() = 0;
};

/// The name of an unfinished checkpoint. Programs that look for checkpoints take no notice of it.
inline constexpr const char* kIncomplete = "incomplete";

/// "step_12" for 12.
[[nodiscard]] inline std::string checkpoint_name(std::int64_t number) { return concat("step_", number); }

/// 12 for "step_12"; nothing for a name that checkpoint_name() does not make, such as "step_012".
[[nodiscard]] inline std::optional<std::int64_t> number_of(std::string_view name) {
  if (!name.starts_with("step_") || name.size() < 6 || name.size() > 20) return std::nullopt;
  const std::string_view digits = name.substr(5);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return std::stoll(std::string(digits));
}

/// Saves a checkpoint, then removes all but the newest `total_limit` ones, this one included.
///
/// Wherever the power fails, two things hold. A folder called step_N is complete. And as long as the new checkpoint is
/// not there, all earlier ones are.
///
/// @param store        Of the training run.
/// @param number       Of the checkpoint, at least as high as all that are there. One of this number is replaced.
/// @param total_limit  How many are kept; 0: all.
/// @throws IoError     The disk is full, or what is on it is not what was to be written. Earlier checkpoints are
///                     untouched, and what was written is removed.
void save_checkpoint(CheckpointStore& store, std::int64_t number, int total_limit);

}  // namespace lockstep::accelerate

#include "run/way_back.hpp"

#include <cerrno>
#include <cmath>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/readable.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

// Quoted for a shell.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Until the first save, the checkpoints in the folder may belong to a part of the run that was abandoned.
bool has_saved(const Divergence& divergence, const CheckpointOptions& options) {
  return options.save_every > 0 && divergence.step / options.save_every > divergence.first_step / options.save_every;
}

std::string command(const Divergence& divergence, const std::string& options) {
  const std::string program = environment::get("LOCKSTEP_PROGRAM").value_or(program_invocation_short_name);
  if (divergence.world_size == 1) return concat(program, options);
  if (divergence.world_size == divergence.local_world_size)
    return concat("lockstep launch --nproc ", divergence.world_size, " -- ", program, options);
  return concat(program, options, ", launched on the same hosts as before,");
}

}  // namespace

std::optional<fs::path> last_sound_checkpoint(const Divergence& divergence, const CheckpointOptions& options) noexcept {
  try {
    const std::int64_t newest = has_saved(divergence, options) ? divergence.step : divergence.first_step;
    std::optional<fs::path> found;
    for (const fs::path& path : checkpoint::CheckpointFolder(checkpoints_of(divergence.run_folder)).list()) {
      const std::int64_t step = *checkpoint::step_of(path);
      const bool is_sound = step < divergence.step || (step == divergence.step && divergence.is_step_validated);
      if (is_sound && step <= newest) found = path;  // they come in ascending order
    }
    return found;
  } catch (...) {
    return std::nullopt;  // must not hide the original error
  }
}

std::string way_back(const Divergence& divergence, const RunOptions& options) {
  std::error_code error;
  if (!fs::exists(divergence.run_folder, error))
    return concat("; the checkpoints are in ", divergence.run_folder.string(), " on the host of rank 0");
  const auto found = last_sound_checkpoint(divergence, options.checkpoints);
  if (!found) return "; there is no checkpoint from before that: start a new run";
  const std::string rate = shortest(options.learning_rate.highest / 2);
  const std::string arguments =
      concat(options.layout, " --resume ", quoted(found->string()), " --learning-rate ", rate);
  return concat("; the last checkpoint with finite losses is ", found->string(), ": ", command(divergence, arguments),
                " continues from it");
}

const char* describe_infinite(double value) noexcept { return std::isnan(value) ? "not a number" : "infinite"; }

}  // namespace lockstep::run

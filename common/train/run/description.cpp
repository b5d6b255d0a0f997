#include "run/description.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "comm/process_group.hpp"
#include "device/device.hpp"
#include "kernels/threads.hpp"
#include "run/optimization.hpp"
#include "run/readable.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

std::string counted(std::int64_t count, const std::string& thing) {
  return grouped(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string describe_model(const std::string& task, const RunSummary& facts) {
  const std::string details = facts.model_details.empty() ? "" : " (" + facts.model_details + ")";
  return concat(label_of(task, facts), ": ", grouped(facts.parameters), " parameters", details);
}

std::string describe_data(const RunSummary& facts) {
  const std::string source = facts.data_source.empty() ? "" : facts.data_source + ": ";
  const std::string sizes = concat(grouped(facts.training_samples), " training and ", grouped(facts.validation_samples),
                                   " validation samples");
  const bool has_tokens = facts.tokens_per_sample > 0;
  return concat(source, sizes, has_tokens ? concat(" of ", facts.tokens_per_sample, " tokens") : "");
}

std::string describe_batch(const RunOptions& options, const RunSummary& facts, const Ranks& ranks) {
  const int shares = ranks.data_ranks();
  std::string text = counted(options.batch_size, "sample") + " a step";
  if (facts.tokens_per_sample > 0)
    text += concat(" (", grouped(options.batch_size * facts.tokens_per_sample), " tokens)");
  const std::int64_t share = options.batch_size / shares;
  const bool is_uneven = options.batch_size % shares != 0;
  const char* const one = shares < ranks.world_size() ? "replica" : "rank";  // a replica is on several ranks
  if (shares > 1) text += concat(", ", share, is_uneven ? concat(" or ", share + 1) : "", " on each ", one);
  if (options.accumulation_steps > 1) text += concat(", in ", options.accumulation_steps, " parts");
  return text;
}

std::string describe_ranks(const std::string& device, const Ranks& ranks) {
  const std::string backend = ranks.group() == nullptr ? "" : concat(" (", ranks.group()->backend(), ")");
  const int world_size = ranks.world_size();
  const bool is_cpu = Device::parse(device).is_cpu();
  return concat(world_size, backend, ", device ", device, ", ", counted(kernels::thread_count(), "thread"),
                world_size > 1 ? " each" : "", is_cpu ? ", matrix products by " + kernels::matrix_library() : "");
}

std::string describe_steps(const RunOptions& options, const RunSummary& facts) {
  const std::int64_t steps = options.total_steps(facts.training_samples);
  const double epochs = static_cast<double>(steps) * static_cast<double>(options.batch_size) /
                        static_cast<double>(std::max<std::int64_t>(facts.training_samples, 1));
  return concat(grouped(steps), " (", fixed(epochs, epochs < 9.95 ? 1 : 0), " epochs), seed ", options.seed);
}

std::string how_far(const Outcome& outcome) {
  const bool is_complete = outcome.step >= outcome.last_step;
  if (is_complete && outcome.step == outcome.first_step)
    return concat("nothing left to train: all ", outcome.step, " steps were done before");
  return concat(is_complete ? "trained " : "stopped after step ", outcome.step,
                is_complete ? " steps" : concat(" of ", outcome.last_step), " in ", clock_time(outcome.elapsed));
}

}  // namespace

std::string label_of(const std::string& task, const RunSummary& facts) {
  return facts.label.empty() ? task : facts.label;
}

Facts describe(const RunOptions& options, const RunSummary& facts, const Ranks& ranks) {
  const std::int64_t steps = options.total_steps(facts.training_samples);
  const std::string update = facts.update.empty() ? describe_learning_rate(options, steps) : facts.update;
  Facts all{{"model", describe_model(options.task, facts)},
            {"data", describe_data(facts)},
            {"batch", describe_batch(options, facts, ranks)},
            {"ranks", describe_ranks(options.device.name, ranks)}};
  if (!options.division.empty()) all.emplace_back("grid", options.division);
  all.emplace_back("steps", describe_steps(options, facts));
  all.emplace_back("update", update);
  all.insert(all.end(), facts.more.begin(), facts.more.end());
  return all;
}

std::string banner(const Facts& facts, std::size_t columns) {
  constexpr std::size_t kValueColumn = 10;
  std::string text;
  for (const auto& [name, value] : facts) {
    text += wrap_words("  " + name + std::string(name.size() < 8 ? 8 - name.size() : 1, ' ') + value + "\n", columns,
                       kValueColumn);
  }
  return text;
}

std::string closing(const std::filesystem::path& run_folder, const Outcome& outcome, std::size_t columns) {
  std::string result = "\n" + how_far(outcome);
  if (outcome.loss) result += ", loss " + fixed(*outcome.loss, 4);
  if (outcome.validation_loss) result += ", validation loss " + fixed(*outcome.validation_loss, 4);
  for (const auto& [name, score] : outcome.scores) result += ", " + name + " " + fixed(score, 4);
  result += "\n";
  if (!outcome.generated.empty()) result += "\nThe model writes:\n\n" + printable(outcome.generated) + "\n\n";
  std::string places;
  if (!outcome.division.empty()) places += concat("  grid        ", outcome.division, "\n");
  if (const MemoryPeaks& peaks = outcome.largest_peaks; peaks.counted_mib > 0)
    places += concat("  memory      at most ", fixed(peaks.counted_mib, 1), " MiB counted on a rank, ",
                     fixed(peaks.process_mib, 0), " MiB in its process\n");
  places += concat("  report      ", (run_folder / "report.html").string(), "\n");
  places += concat("  checkpoint  ", checkpoints_of(run_folder).string(), "\n");
  if (!outcome.generated.empty()) places += concat("  write more  ./lockstep generate ", run_folder.string(), "\n");
  if (!outcome.generated.empty() && outcome.step >= outcome.last_step) {
    places += concat("  train on    the same command with", outcome.layout, " --resume ", run_folder.string(),
                     ", and --steps above ", outcome.last_step, " or more --epochs\n");
  }
  if (outcome.step < outcome.last_step)
    places += concat("  go on with ", outcome.layout, " --resume ", run_folder.string(), "\n");
  constexpr std::size_t kValueColumn = 14;
  return wrap_words(result, columns) + wrap_words(places, columns, kValueColumn);
}

}  // namespace lockstep::run

// sampler_table: which rank sees which sample in which epoch, with set_epoch and without. Uses a real
// DistributedSampler for each rank, so the table is exact; starts no ranks.
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "06_gpt_ddp/distributed_sampler.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;

struct Options {
  std::int64_t samples = 10;
  int world_size = 4;
  int epochs = 3;
  std::uint64_t seed = 0;
  bool is_unshuffled = false;
  bool shall_drop = false;

  [[nodiscard]] ddp::DistributedSamplerOptions of_sampler() const {
    return {.seed = seed,
            .shuffle = is_unshuffled ? ddp::Shuffle::kNo : ddp::Shuffle::kYes,
            .remainder = shall_drop ? ddp::Remainder::kDrop : ddp::Remainder::kPad};
  }
};

using Deal = std::vector<std::vector<std::int64_t>>;  // [rank][k]: the rank's k-th sample of one epoch

// All epochs. Every rank keeps one sampler for all epochs, as in a training loop.
std::vector<Deal> deal(const Options& options, bool calls_set_epoch) {
  std::vector<Deal> epochs(static_cast<std::size_t>(options.epochs));
  for (int rank = 0; rank < options.world_size; ++rank) {
    ddp::DistributedSampler sampler(options.samples, rank, options.world_size, options.of_sampler());
    for (int epoch = 0; epoch < options.epochs; ++epoch) {
      if (calls_set_epoch) sampler.set_epoch(epoch);
      epochs[static_cast<std::size_t>(epoch)].push_back(sampler.begin_iteration());
    }
  }
  return epochs;
}

// One row per rank; '*' marks a sample dealt earlier in the same epoch.
std::vector<std::string> rows_of(const Deal& epoch, std::size_t width) {
  std::vector<std::string> rows(epoch.size());
  std::set<std::int64_t> dealt;
  for (std::size_t k = 0; k < epoch.front().size(); ++k) {
    for (std::size_t rank = 0; rank < epoch.size(); ++rank) {
      const std::int64_t sample = epoch[rank][k];
      const std::string text = std::to_string(sample);
      rows[rank] += std::string(width - text.size() + 1, ' ') + text + (dealt.insert(sample).second ? ' ' : '*');
    }
  }
  return rows;
}

// Number of different samples that a rank sees over all epochs.
std::size_t different_samples(const std::vector<Deal>& epochs, std::size_t rank) {
  std::set<std::int64_t> met;
  for (const Deal& epoch : epochs) met.insert(epoch[rank].begin(), epoch[rank].end());
  return met.size();
}

void print(const std::string& title, const std::vector<Deal>& epochs, const Options& options) {
  const std::size_t width = std::to_string(options.samples - 1).size();
  TextTable table;
  std::vector<std::vector<std::string>> lines(static_cast<std::size_t>(options.world_size) + 1);
  lines[0].emplace_back();
  for (int rank = 0; rank < options.world_size; ++rank) {
    lines[static_cast<std::size_t>(rank) + 1].push_back("rank " + std::to_string(rank));
  }
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    lines[0].push_back("epoch " + std::to_string(epoch) + ' ');
    const std::vector<std::string> rows = rows_of(epochs[epoch], width);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) lines[rank + 1].push_back(rows[rank]);
  }
  lines[0].emplace_back("different");
  for (std::size_t rank = 0; rank + 1 < lines.size(); ++rank) {
    lines[rank + 1].push_back(std::to_string(different_samples(epochs, rank)));
  }
  for (std::vector<std::string>& line : lines) table.add(std::move(line));
  std::cout << '\n'
            << title << '\n'
            << table.text();
}

int run(const Options& options) {
  const std::vector<Deal> with = deal(options, true);
  const auto each = static_cast<std::int64_t>(with.front().front().size());
  const std::int64_t extra = each * options.world_size - options.samples;
  std::cout << options.samples << " samples, " << options.world_size << " ranks: each rank is dealt " << each
            << " an epoch";
  if (extra > 0) std::cout << "; " << extra << (extra == 1 ? " is" : " are") << " repeated (*) so that all ranks have equally many";
  if (extra < 0) std::cout << "; " << -extra << (extra == -1 ? " is" : " are") << " left out so that all ranks have equally many";
  std::cout << ".\n";
  print("set_epoch(epoch) before every epoch", with, options);
  print("set_epoch forgotten", deal(options, false), options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Prints which rank sees which sample in which epoch");
  Options options;
  app.add_option("--samples", options.samples, "In the dataset").check(whole_number(1, 1000));
  app.add_option("--world-size", options.world_size, "Ranks").check(whole_number(1, 64));
  app.add_option("--epochs", options.epochs, "Passes over the data").check(whole_number(1, 20));
  app.add_option("--seed", options.seed, "Of the order");
  app.add_flag("--no-shuffle", options.is_unshuffled, "Deal the samples in the dataset's own order");
  app.add_flag("--drop-last", options.shall_drop, "Leave out samples that cannot be dealt evenly, instead of repeating some");
  return run_main(app, argc, argv, [&] { return run(options); });
}

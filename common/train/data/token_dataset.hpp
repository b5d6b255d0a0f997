#pragma once
/// @file
/// Datasets of tokens: windows of a text, and sequences from a random rule.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/windows.hpp"

namespace lockstep::data {

/// A text as numbers.
struct Tokens {
  std::vector<std::int32_t> ids;
  std::int32_t vocabulary_size = 0;  ///< Every id is in [0, vocabulary_size).
  std::string name;                  ///< For messages: "input.txt (training part)".
};

/// Windows of a text. Fixed ones overlap by one token: sample i reads tokens [i*T, i*T+T) and must predict [i*T+1,
/// i*T+T+1). Every token but the first is a target in at most one sample; a remainder shorter than a window is not
/// used. Random ones begin anywhere, and move in each epoch (data/windows.hpp).
class TokenDataset final : public Dataset {
 public:
  /// @param context_length  T, at least 1.
  /// @param seed            Of random windows.
  /// @throws FormatError  The text is too short for one sample; says how many tokens are needed.
  TokenDataset(Tokens tokens, std::int64_t context_length, Placement placement = Placement::kFixed,
               std::uint64_t seed = 0);

  [[nodiscard]] std::int64_t size() const noexcept override { return windows_.count(); }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override { return batch_of_epoch(indices, 0); }
  /// inputs, targets [B, T] int32.
  [[nodiscard]] Batch batch_of_epoch(std::span<const std::int64_t> indices, std::int64_t epoch) const override;

 private:
  Tokens tokens_;
  Windows windows_;
};

/// Token sequences from a rule that a model can learn, for benchmarks and tests without a text: with probability 7/8 a
/// token is followed by its fixed successor, else by any token. Sample i is a pure function of (seed,
/// first_sample + i).
class RandomTokenDataset final : public Dataset {
 public:
  /// Parameters of the random samples.
  struct Options {
    std::int64_t sample_count = 0;
    std::int64_t context_length = 0;   ///< T.
    std::int32_t vocabulary_size = 0;  ///< At least 2.
    std::uint64_t seed = 0;            ///< The same seed gives the same rule and samples.
    std::int64_t first_sample = 0;     ///< Samples skipped at the beginning, for another dataset of this rule.
  };
  /// @throws ContractError  A count or length below 1, or a vocabulary below 2.
  explicit RandomTokenDataset(const Options& options);

  [[nodiscard]] std::int64_t size() const noexcept override { return options_.sample_count; }
  [[nodiscard]] Batch batch(std::span<const std::int64_t> indices) const override;  ///< inputs, targets [B, T] int32.

  /// The lowest mean cross-entropy a model can reach, in nats: the entropy of the next token given the current one.
  [[nodiscard]] double lowest_loss() const noexcept;

 private:
  Options options_;
  std::vector<std::int32_t> successors_;  // [vocabulary_size], one cycle through all tokens
};

}  // namespace lockstep::data

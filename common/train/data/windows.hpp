#pragma once
/// @file
/// Which parts of a text are samples.
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::data {

/// Where windows begin.
enum class Placement {
  kFixed,  ///< One after the other: every token but the first is predicted once per epoch.
  kRandom  ///< Anywhere, drawn again for each epoch (as nanoGPT): a token has a different context each time.
};

/// "fixed" or "random". @throws FormatError  Neither.
[[nodiscard]] Placement parse_placement(std::string_view name);

/// Windows of T + 1 tokens: T inputs, and the successor of each to predict. With both placements, an epoch has as many
/// as fit into the text if neighbours share one token.
class Windows {
 public:
  /// The text's size, and how to cut it into windows.
  struct Options {
    std::int64_t token_count = 0;
    std::int64_t context_length = 0;  ///< T, at least 1.
    Placement placement = Placement::kFixed;
    std::uint64_t seed = 0;  ///< For kRandom.
  };

  /// @param name  Of the text, for messages.
  /// @throws FormatError    The text is too short for one window; says how many tokens are needed.
  /// @throws ContractError  A context length below 1.
  Windows(const Options& options, const std::string& name);

  /// Per epoch.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// The first token of window `index`; T + 1 tokens from it on are in the text. kFixed: index * T. kRandom: a number
  /// in [0, token_count - T) that is a pure function of (seed, epoch, index), so that any number of ranks and workers
  /// draws the same.
  /// @throws ContractError  `index` is not in [0, count()).
  [[nodiscard]] std::int64_t first_token(std::int64_t index, std::int64_t epoch) const;

 private:
  Options options_;
  std::int64_t count_;
};

}  // namespace lockstep::data

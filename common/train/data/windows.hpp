#pragma once
/// @file
/// Which stretches of a text are samples.
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::data {

/// Where windows begin.
enum class Placement {
  kFixed,  ///< One behind the other: every token but the first is predicted once per epoch.
  kRandom  ///< Anywhere, drawn anew for each epoch (as nanoGPT): a token meets other neighbours in front each time.
};

/// "fixed" or "random". @throws FormatError  Neither.
[[nodiscard]] Placement parse_placement(std::string_view name);

/// Windows of T + 1 tokens, T to read and each one's successor to predict. An epoch has as many as fit into the text
/// without overlapping by more than that one token, wherever they begin.
class Windows {
 public:
  /// What is cut, and how.
  struct Options {
    std::int64_t token_count = 0;             ///< Of the text.
    std::int64_t context_length = 0;          ///< T, at least 1.
    Placement placement = Placement::kFixed;  ///< Of all windows.
    std::uint64_t seed = 0;                   ///< Of kRandom.
  };

  /// @param name  What messages call the text.
  /// @throws FormatError    The text is too short for one window; says how many tokens are needed.
  /// @throws ContractError  A context length below 1.
  Windows(const Options& options, const std::string& name);

  /// Windows per epoch.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// As given to the constructor.
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  /// The first token of window `index`, from which T + 1 tokens are in the text: index T, or with kRandom a number in
  /// [0, token_count - T) that is a pure function of (seed, epoch, index), so that any number of ranks and workers
  /// draws the same.
  /// @throws ContractError  `index` is not in [0, count()).
  [[nodiscard]] std::int64_t first_token(std::int64_t index, std::int64_t epoch) const;

 private:
  Options options_;
  std::int64_t count_;
};

}  // namespace lockstep::data

#include "data/windows.hpp"

#include "base/error.hpp"
#include "base/philox.hpp"

namespace lockstep::data {

Placement parse_placement(std::string_view name) {
  if (name == "fixed") return Placement::kFixed;
  if (name == "random") return Placement::kRandom;
  throw FormatError(concat("windows are fixed or random, not '", name, "'"));
}

Windows::Windows(const Options& options, const std::string& name) : options_(options), count_(0) {
  const std::int64_t length = options.context_length;
  require(length >= 1, "context length ", length, " is not positive");
  count_ = (options.token_count - 1) / length;  // - 1: the last target needs one more token
  if (count_ >= 1) return;
  throw FormatError(concat(name, ": ", options.token_count, " tokens are too few for one sample of context length ",
                           length, ", which needs ", length + 1, "; use a longer text or a smaller model"));
}

std::int64_t Windows::first_token(std::int64_t index, std::int64_t epoch) const {
  require(index >= 0 && index < count_, "sample ", index, " of a dataset of ", count_, " samples");
  if (options_.placement == Placement::kFixed) return index * options_.context_length;
  constexpr std::uint64_t kStream = 0x77696E646F7773;  // separates these random numbers from those of an epoch's order
  const std::uint64_t key = mix64(mix64(options_.seed, kStream), static_cast<std::uint64_t>(epoch));
  PhiloxSequence words(key, static_cast<std::uint64_t>(index));
  // A window that begins at the last of these ends with the text's last token.
  const std::int64_t places = options_.token_count - options_.context_length;
  return static_cast<std::int64_t>(words.next_below(static_cast<std::uint64_t>(places)));
}

}  // namespace lockstep::data

#pragma once
/// @file
/// Which threads of a block can run, in the order in which they get their turns.
#include <array>
#include <bit>
#include <cstdint>

namespace lockstep::emulator {

/// A set of places 0 to 1023 with a quick way to the next one.
class RunnableSet {
 public:
  /// Adds a place.
  void insert(std::uint32_t place) noexcept {
    words_[place / 64] |= std::uint64_t{1} << (place % 64);
    filled_ |= 1U << (place / 64);
  }
  /// Takes a place out.
  void erase(std::uint32_t place) noexcept {
    words_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
    if (words_[place / 64] == 0) filled_ &= ~(1U << (place / 64));
  }
  /// Whether nothing is in it.
  [[nodiscard]] bool is_empty() const noexcept { return filled_ == 0; }
  /// The first place from `from` on (0 to 1024), after the last one from 0 on.
  /// @pre !is_empty()
  [[nodiscard]] std::uint32_t next(std::uint32_t from) const noexcept {
    if (from < 1024) {
      const std::uint32_t word = from / 64;
      const std::uint64_t rest = words_[word] >> (from % 64);
      if (rest != 0) return from + static_cast<std::uint32_t>(std::countr_zero(rest));
      const std::uint32_t later = filled_ & ~((2U << word) - 1U);
      if (later != 0) return first_of(static_cast<std::uint32_t>(std::countr_zero(later)));
    }
    return first_of(static_cast<std::uint32_t>(std::countr_zero(filled_)));
  }
  /// Exactly the places below `count`.
  void fill(std::uint32_t count) noexcept {
    words_ = {};
    filled_ = 0;
    for (std::uint32_t word = 0; word * 64 < count; ++word) {
      const std::uint32_t here = count - word * 64;
      words_[word] = here >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      filled_ |= 1U << word;
    }
  }

 private:
  [[nodiscard]] std::uint32_t first_of(std::uint32_t word) const noexcept {
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
  }

  std::array<std::uint64_t, 16> words_{};
  std::uint32_t filled_ = 0;  ///< Which words are not 0.
};

}  // namespace lockstep::emulator

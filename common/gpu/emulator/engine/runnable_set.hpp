#pragma once
/// @file
/// A set that finds the next runnable thread of a block quickly.
#include <array>
#include <bit>
#include <cstdint>

namespace lockstep::emulator {

/// A set of the numbers 0 to 1023 with a fast search for the next one.
class RunnableSet {
 public:
  void insert(std::uint32_t place) noexcept {
    words_[place / 64] |= std::uint64_t{1} << (place % 64);
    filled_ |= 1U << (place / 64);
  }
  void erase(std::uint32_t place) noexcept {
    words_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
    if (words_[place / 64] == 0) filled_ &= ~(1U << (place / 64));
  }
  [[nodiscard]] bool is_empty() const noexcept { return filled_ == 0; }
  /// The first place at or after `from` (0 to 1024), wrapping around to 0.
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
  /// Sets the contents to all places below `count`, which is at most 1024.
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
  std::uint32_t filled_ = 0;  ///< Bit i: word i is not 0.
};

}  // namespace lockstep::emulator

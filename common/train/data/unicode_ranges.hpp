#pragma once
/// @file
/// Which code points are letters and which are numbers, by Unicode 15.0's general categories. We have our own table
/// (5 KB), because no library in a learner's build provides categories; make_unicode_ranges.py makes it from Debian's
/// package unicode-data.
#include <span>

namespace lockstep::data {

/// Code points from `first` to `last`, both included.
struct CodePointRange {
  char32_t first;  ///< At most last.
  char32_t last;   ///< Below the next range's first.
};

/// Category L: letters of all scripts, with ideographs and modifiers; without combining marks. Ascending.
[[nodiscard]] std::span<const CodePointRange> letter_ranges() noexcept;

/// Category N: digits of all scripts, Roman and other letter numbers, fractions, superscripts. Ascending.
[[nodiscard]] std::span<const CodePointRange> number_ranges() noexcept;

}  // namespace lockstep::data

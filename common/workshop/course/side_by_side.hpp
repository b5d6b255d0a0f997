#pragma once
/// @file
/// A derived file beside its base, as `lockstep diff NN` shows it.
#include <string>

#include "course/derived_file.hpp"

namespace lockstep::course {

/// Whether a listing uses terminal colours.
enum class ColourMode { kPlain, kAnsi };

/// How a listing is drawn.
struct ListingOptions {
  int width = 160;  ///< Columns in all; at least 60 are used.
  ColourMode colours = ColourMode::kPlain;
};

/// Draws both files line by line: the base on the left, the derived file on the right, a sign between them (`+` new,
/// `~` changed, `-` gone). Longer lines are cut with `…`. Ends with the counts, the budget and any broken rules.
/// @param pair     From load_derived_pair().
/// @param options  Width and colours; the caller checks the terminal.
/// @return  Lines, each ending in a newline.
[[nodiscard]] std::string render_side_by_side(const DerivedPair& pair, const ListingOptions& options = {});

}  // namespace lockstep::course

#pragma once
/// @file
/// How GPT-2 splits a text before merging bytes: into contractions, words, numbers, other characters and whitespace, so
/// that no token spans two of them.
/// @source  Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2; the regular
///          expression is that of openai/gpt-2, src/encoder.py.
#include <string_view>
#include <vector>

namespace lockstep::data {

/// The pieces of `text`: adjacent views that cover it. They are the matches of
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
///
/// A word takes the one space before it; of a run of whitespace, only the last character, if it is a space. Categories
/// are those of Unicode 15.0; code points assigned later, and bytes that are not valid UTF-8, count as other
/// characters, so nothing is lost.
/// @cost  One pass over the text.
[[nodiscard]] std::vector<std::string_view> gpt2_split(std::string_view text);

}  // namespace lockstep::data

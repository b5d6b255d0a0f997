#pragma once
/// @file
/// How GPT-2 cuts a text before merging bytes: into contractions, words, numbers, other signs and white space, so that
/// no token spans two of them.
/// @source  Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2; the regular
///          expression is that of openai/gpt-2, src/encoder.py.
#include <string_view>
#include <vector>

namespace lockstep::data {

/// The pieces of `text`: views that follow one another without gap. They are the matches of
/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
///
/// A space belongs to the word behind it; of several blanks the last one does, if it is a space. Categories are those
/// of Unicode 15.0; a code point assigned later counts as a sign. A byte that is no part of valid UTF-8 counts as a
/// sign too: nothing is lost.
/// @cost  One pass over the text.
[[nodiscard]] std::vector<std::string_view> gpt2_split(std::string_view text);

}  // namespace lockstep::data

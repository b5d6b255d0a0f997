#pragma once
/// @file
/// Tokens that are matched literally in a text, before it is split into words: "<|endoftext|>", and tokens added to a
/// model later. Internal to this module.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// A token that is matched literally.
struct AddedToken {
  std::string text;  ///< Not empty.
  std::int32_t id = 0;
};

/// Splits `text` at every occurrence of one of `tokens`, from left to right; of several at one place, the longest
/// counts.
/// @param use_text   Called with the text between them; not with empty pieces.
/// @param use_token  Called with the id of each, in the order of the text.
void split_at_tokens(std::string_view text, const std::vector<AddedToken>& tokens,
                     const std::function<void(std::string_view)>& use_text,
                     const std::function<void(std::int32_t)>& use_token);

/// Reads added_tokens.json, {token: number}; sorted by number.
/// @param name  Of the file, for messages. @throws FormatError  It has another form.
[[nodiscard]] std::vector<AddedToken> parse_added_tokens(std::string_view json, const std::string& name);

}  // namespace lockstep::data

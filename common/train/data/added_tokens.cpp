#include "data/added_tokens.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"

namespace lockstep::data {

void split_at_tokens(std::string_view text, const std::vector<AddedToken>& tokens,
                     const std::function<void(std::string_view)>& use_text,
                     const std::function<void(std::int32_t)>& use_token) {
  std::vector<std::size_t> next;  // the next occurrence of each, from `at` on
  for (const AddedToken& token : tokens) next.push_back(text.find(token.text));
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* found = nullptr;
    std::size_t place = std::string_view::npos;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (next[i] != std::string_view::npos && next[i] < at) next[i] = text.find(tokens[i].text, at);
      if (next[i] == std::string_view::npos || next[i] > place) continue;
      const bool is_longer = found == nullptr || tokens[i].text.size() > found->text.size();
      if (next[i] < place || is_longer) found = &tokens[i];
      place = next[i];
    }
    const std::string_view piece = text.substr(at, found == nullptr ? std::string_view::npos : place - at);
    if (!piece.empty()) use_text(piece);
    if (found == nullptr) return;
    use_token(found->id);
    at = place + found->text.size();
  }
}

std::vector<AddedToken> parse_added_tokens(std::string_view json, const std::string& name) {
  std::vector<AddedToken> tokens;
  try {
    for (const auto& [text, id] : parse_json(json).get<std::map<std::string, std::int32_t>>()) {
      if (text.empty()) throw FormatError(concat(name, " has a token without a character"));
      tokens.push_back({text, id});
    }
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(name, " is not an object {token: number}: ", error.what()));
  }
  std::ranges::sort(tokens, {}, &AddedToken::id);
  return tokens;
}

}  // namespace lockstep::data

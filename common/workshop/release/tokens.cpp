#include "release/tokens.hpp"

#include <algorithm>

#include "emulator/translate/tokens.hpp"

namespace lockstep::release {

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0, line = 1; at < text.size(); ++line) {
    const std::size_t end = std::min(text.size(), text.find('\n', at));
    for (const translate::Token& token : translate::split_tokens(text.substr(at, end - at)))
      tokens.push_back({std::string(token.text), line});
    at = end + 1;
  }
  return tokens;
}

}  // namespace lockstep::release

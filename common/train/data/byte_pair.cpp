#include "data/byte_pair.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>
#include <unordered_map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/foreign_file.hpp"
#include "base/json.hpp"
#include "data/added_tokens.hpp"
#include "data/gpt2_split.hpp"
#include "data/tokenizer_json.hpp"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

// Limits the cache of words of one text, so that a text of distinct words does not fill the memory.
constexpr std::size_t kMostWordsRemembered = std::size_t{1} << 16;

// A pair of tokens as one key, and the result of joining it.
using Pair = std::uint64_t;
struct Merge {
  std::int32_t rank = 0;    // lower ones are joined first
  std::int32_t joined = 0;  // the token
};

Pair pair_of(std::int32_t left, std::int32_t right) {
  return (static_cast<Pair>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}

std::string utf8_of(unsigned code_point) {  // below U+0800
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

// The character that represents each byte in the files.
std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> characters;
  unsigned next = 0x100;  // for bytes that are not printable in Latin-1
  for (unsigned byte = 0; byte < characters.size(); ++byte) {
    const bool is_printed = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = utf8_of(is_printed ? byte : next++);
  }
  return characters;
}

// Converts the files' characters to bytes.
class ByteReader {
 public:
  ByteReader() {
    const auto characters = byte_characters();
    for (std::size_t byte = 0; byte < characters.size(); ++byte) {
      byte_of_[characters[byte]] = static_cast<char>(static_cast<unsigned char>(byte));
    }
  }

  // Nothing if `token` has a character that represents no byte.
  [[nodiscard]] std::optional<std::string> read(std::string_view token) const {
    std::string bytes;
    while (!token.empty()) {
      const std::size_t length = static_cast<unsigned char>(token.front()) < 0x80 ? 1 : 2;
      const auto found = byte_of_.find(std::string(token.substr(0, length)));
      if (found == byte_of_.end()) return std::nullopt;
      bytes += found->second;
      token.remove_prefix(length);
    }
    return bytes;
  }

 private:
  std::unordered_map<std::string, char> byte_of_;
};

// A pair of neighbours in a word that can be joined. The next one to join is at the top of the queue.
struct Candidate {
  std::int32_t rank = 0;
  std::int32_t left = 0, right = 0;  // positions of the two
  Pair pair = 0;                     // the pair when this was queued
  std::int32_t joined = 0;

  bool operator<(const Candidate& other) const noexcept {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

class BytePairTokenizer final : public Tokenizer {
 public:
  BytePairTokenizer(const BytePairFiles& files, SpecialTokens special_tokens) {
    const ByteReader reader;
    const auto ids = read_vocabulary(files, reader);
    read_merges(files, reader, ids);
    const auto characters = byte_characters();
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
      const auto found = ids.find({static_cast<char>(static_cast<unsigned char>(byte))});
      if (found == ids.end()) {
        throw FormatError(concat(files.name, "/", kVocabularyFile, " has no token for the byte ", byte, " ('",
                                 characters[byte], "'): it is not a byte-level vocabulary"));
      }
      byte_ids_[byte] = found->second;
    }
    const auto end_of_text = ids.find(std::string(kEndOfText));
    if (end_of_text != ids.end()) added_.push_back({std::string(kEndOfText), end_of_text->second});
    add_tokens(files);
    if (special_tokens == SpecialTokens::kAsText) added_.clear();
    const auto end = std::ranges::find(added_, kEndOfText, &AddedToken::text);
    if (end != added_.end()) end_of_text_ = end->id;
  }

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    std::unordered_map<std::string_view, std::vector<std::int32_t>> known;
    split_at_tokens(
        text, added_, [&](std::string_view piece) { append_words(piece, known, ids); },
        [&ids](std::int32_t id) { ids.push_back(id); });
    return ids;
  }

  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      require(id >= 0 && id < vocabulary_size(), "token ", id, " is not in the vocabulary of ", vocabulary_size(),
              " tokens");
      text += texts_[static_cast<std::size_t>(id)];
    }
    return text;
  }

  [[nodiscard]] std::int32_t vocabulary_size() const noexcept override {
    return static_cast<std::int32_t>(texts_.size());
  }
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const noexcept override { return end_of_text_; }
  [[nodiscard]] std::string description() const override {
    return concat("byte-level BPE with ", texts_.size(), " tokens");
  }

 private:
  using Ids = std::unordered_map<std::string, std::int32_t>;  // by the bytes of the token

  Ids read_vocabulary(const BytePairFiles& files, const ByteReader& reader) {
    const std::string file = concat(files.name, "/", kVocabularyFile);
    nlohmann::json json;
    try {
      json = parse_json(files.vocabulary);
    } catch (const nlohmann::json::exception& error) {
      if (const auto foreign = explain_foreign_file(files.vocabulary, kVocabularyFile))
        throw FormatError(concat(file, " ", foreign->explanation));
      throw FormatError(concat(file, " is not JSON: ", error.what()));
    }
    if (!json.is_object() || json.empty()) throw FormatError(concat(file, " is not an object {token: number}"));
    texts_.resize(json.size());
    std::vector<bool> is_taken(json.size());
    Ids ids;
    for (const auto& [token, number] : json.items()) {
      const bool is_number = number.is_number_unsigned() && number.get<std::uint64_t>() < texts_.size();
      const auto id = is_number ? number.get<std::size_t>() : 0;
      if (!is_number || is_taken[id]) {
        throw FormatError(concat(file, ": the number of token '", token, "' is not one of 0 to ", texts_.size() - 1,
                                 ", each used once"));
      }
      const std::optional<std::string> bytes = reader.read(token);
      if (!bytes || bytes->empty()) {
        throw FormatError(concat(file, ": token '", token, "' is empty, or has a character that stands for no byte"));
      }
      is_taken[id] = true;
      texts_[id] = *bytes;
      ids.emplace(*bytes, static_cast<std::int32_t>(id));
    }
    return ids;
  }

  // Tokens that are in the vocabulary already (tokenizer.json lists "<|endoftext|>" in both places) stay as they are.
  void add_tokens(const BytePairFiles& files) {
    if (files.added.empty()) return;
    const std::string name = concat(files.name, "/", kAddedTokensFile);
    for (AddedToken& token : parse_added_tokens(files.added, name)) {
      const auto place = static_cast<std::size_t>(token.id);
      const bool is_known = token.id >= 0 && place < texts_.size();
      if (!(is_known ? texts_[place] == token.text : place == texts_.size()))
        throw FormatError(concat(name, ": '", token.text, "' has the number ", token.id,
                                 is_known ? concat(", which is that of '", texts_[place], "'")
                                          : concat("; the next number after the vocabulary is ", texts_.size())));
      if (!is_known) texts_.push_back(token.text);
      if (std::ranges::find(added_, token.id, &AddedToken::id) == added_.end()) added_.push_back(std::move(token));
    }
  }

  void read_merges(const BytePairFiles& files, const ByteReader& reader, const Ids& ids) {
    std::string_view rest = files.merges;
    for (int line_number = 1; !rest.empty(); ++line_number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));  // + 1: the line feed
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
      const std::size_t space = line.find(' ');
      const auto find = [&](const std::string& bytes) {
        const auto found = ids.find(bytes);
        return found == ids.end() ? -1 : found->second;
      };
      const std::string left = reader.read(line.substr(0, space)).value_or("");
      const std::string right = space == line.npos ? "" : reader.read(line.substr(space + 1)).value_or("");
      const std::int32_t left_id = find(left), right_id = find(right), joined = find(left + right);
      if (left_id < 0 || right_id < 0 || joined < 0) {
        throw FormatError(concat(files.name, "/", kMergesFile, ", line ", line_number, ": '", line,
                                 "' is not two tokens of ", kVocabularyFile, " that make a third"));
      }
      merges_.emplace(pair_of(left_id, right_id), Merge{static_cast<std::int32_t>(merges_.size()), joined});
    }
  }

  void append_words(std::string_view text, std::unordered_map<std::string_view, std::vector<std::int32_t>>& known,
                    std::vector<std::int32_t>& ids) const {
    for (const std::string_view word : gpt2_split(text)) {
      const auto found = known.find(word);
      if (found != known.end()) {
        ids.insert(ids.end(), found->second.begin(), found->second.end());
        continue;
      }
      const std::vector<std::int32_t> tokens = tokens_of(word);
      ids.insert(ids.end(), tokens.begin(), tokens.end());
      if (known.size() < kMostWordsRemembered) known.emplace(word, tokens);
    }
  }

  // Tokens keep the position of their first byte; `next` and `previous` link the remaining ones.
  [[nodiscard]] std::vector<std::int32_t> tokens_of(std::string_view word) const {
    const auto count = static_cast<std::int32_t>(word.size());
    std::vector<std::int32_t> tokens(word.size()), next(word.size()), previous(word.size());
    std::priority_queue<Candidate> candidates;
    const auto at = [](std::vector<std::int32_t>& list, std::int32_t place) -> std::int32_t& {
      return list[static_cast<std::size_t>(place)];
    };
    const auto propose = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right >= count) return;
      const Pair pair = pair_of(at(tokens, left), at(tokens, right));
      const auto merge = merges_.find(pair);
      if (merge != merges_.end()) candidates.push({merge->second.rank, left, right, pair, merge->second.joined});
    };
    for (std::int32_t place = 0; place < count; ++place) {
      at(tokens, place) = byte_ids_[static_cast<unsigned char>(word[static_cast<std::size_t>(place)])];
      at(next, place) = place + 1;
      at(previous, place) = place - 1;
      propose(place - 1, place);
    }
    while (!candidates.empty()) {
      const Candidate best = candidates.top();
      candidates.pop();
      const bool is_there = at(tokens, best.left) >= 0 && at(next, best.left) == best.right &&
                            pair_of(at(tokens, best.left), at(tokens, best.right)) == best.pair;
      if (!is_there) continue;  // one of the two has been joined with another since
      at(tokens, best.left) = best.joined;
      at(tokens, best.right) = kGone;
      const std::int32_t behind = at(next, best.right);
      at(next, best.left) = behind;
      if (behind < count) at(previous, behind) = best.left;
      propose(at(previous, best.left), best.left);
      propose(best.left, behind);
    }
    std::erase(tokens, kGone);
    return tokens;
  }

  static constexpr std::int32_t kGone = -1;

  std::vector<std::string> texts_;  // of each token, in bytes
  std::unordered_map<Pair, Merge> merges_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<AddedToken> added_;            // if they should be recognized
  std::optional<std::int32_t> end_of_text_;  // one of them
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_pair_tokenizer(const BytePairFiles& files, SpecialTokens special_tokens) {
  return std::make_shared<BytePairTokenizer>(files, special_tokens);
}

std::shared_ptr<const Tokenizer> read_byte_pair_tokenizer(const fs::path& folder, SpecialTokens special_tokens) {
  const bool has_neither = !fs::exists(folder / kVocabularyFile) && !fs::exists(folder / kMergesFile);
  if (has_neither && fs::exists(folder / kTokenizerJsonFile)) {
    const std::string text = read_file(folder / kTokenizerJsonFile);
    return byte_pair_tokenizer(files_from_tokenizer_json(text, folder.string()), special_tokens);
  }
  for (const char* name : {kVocabularyFile, kMergesFile}) {
    if (fs::exists(folder / name)) continue;
    throw IoError(concat(folder.string(), " has no ", name, ": GPT-2's tokenizer is ", kVocabularyFile, " and ",
                         kMergesFile, ", or ", kTokenizerJsonFile, "; look for them beside the model's weights"));
  }
  const bool has_added = fs::exists(folder / kAddedTokensFile);
  return byte_pair_tokenizer({.vocabulary = read_file(folder / kVocabularyFile),
                              .merges = read_file(folder / kMergesFile),
                              .name = folder.string(),
                              .added = has_added ? read_file(folder / kAddedTokensFile) : ""},
                             special_tokens);
}

}  // namespace lockstep::data

#include "base/fault.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"

namespace lockstep::fault {
namespace {

constexpr std::array<std::string_view, kKindCount> kNames{"kill",      "stop", "slow", "drop", "corrupt",
                                                          "disk-full", "nan",  "oom",  "batch"};
constexpr double kLongestPause = 24 * 3600, kLargestFactor = 1e6;
constexpr std::int64_t kLargestStep = std::int64_t{1} << 40;
constexpr const char* kExample = "rank=2 step=50 kill";

std::string_view name_of(Kind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

[[noreturn]] void fail(std::string_view text, const std::string& problem) {
  throw FormatError(concat("the fault \"", text, "\" ", problem));
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(" \t", begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

// The unit after a number: "s" in "0.5s". The number is 0 or more, or nothing.
std::pair<std::optional<double>, std::string> number_and_unit(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && std::isfinite(number) && number >= 0;
  return {is_number ? std::optional(number) : std::nullopt, end};
}

// A fault being parsed; remembers which words it has seen.
class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text) {}

  Fault read() {
    for (const std::string& word : words_of(text_)) take(word);
    if (!kind_) fail(text_, concat("does not say what should happen; name one of ", list_of_kinds()));
    if (!rank_) fail(text_, concat("names no rank; write for example ", kExample));
    if (!step_) fail(text_, concat("names no step; write for example ", kExample));
    if (fault_.peer && *kind_ != Kind::kDrop && *kind_ != Kind::kCorrupt)
      fail(text_, "has a peer, which only drop and corrupt have");
    if (fault_.peer == rank_) fail(text_, concat("has rank ", *rank_, " as its own peer"));
    fault_.kind = *kind_;
    fault_.rank = *rank_;
    fault_.step = *step_;
    return fault_;
  }

 private:
  void take(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::optional<std::string> value =
        equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
    if (name == "rank") {
      set(rank_, name, static_cast<int>(whole(name, value, 0, INT32_MAX)));
    } else if (name == "step") {
      set(step_, name, whole(name, value, 1, kLargestStep));
    } else if (name == "peer") {
      set(fault_.peer, name, static_cast<int>(whole(name, value, 0, INT32_MAX)));
    } else if (name == "attempt") {
      fault_.attempt.reset();
      if (value != "any") fault_.attempt = static_cast<int>(whole(name, value, 0, INT32_MAX));
    } else {
      take_kind(word, name, value);
    }
  }

  void take_kind(const std::string& word, const std::string& name, const std::optional<std::string>& value) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
      std::vector<std::string> known(kNames.begin(), kNames.end());
      known.insert(known.end(), {"rank", "step", "attempt", "peer"});
      fail(text_,
           concat("has the word \"", word, "\"", did_you_mean(name, known), "; the kinds are ", list_of_kinds()));
    }
    const Kind kind = static_cast<Kind>(found - kNames.begin());
    set(kind_, "a kind", kind);
    if (kind == Kind::kSlow) return take_slowness(value.value_or(""));
    if (value) fail(text_, concat("gives ", name, " the value \"", *value, "\"; of the kinds only slow has one"));
  }

  void take_slowness(const std::string& value) {
    const auto [number, unit] = number_and_unit(value);
    if (number && unit == "s" && *number <= kLongestPause) {
      fault_.pause = std::chrono::duration<double>(*number);
    } else if (number && unit == "x" && *number >= 1 && *number <= kLargestFactor) {
      fault_.factor = *number;
    } else {
      fail(text_, concat("does not say how slow: slow=0.5s adds half a second to each step (at most ", kLongestPause,
                         " s), slow=3x makes each three times as long (1 to ", kLargestFactor, ")"));
    }
  }

  template <typename T>
  void set(std::optional<T>& place, const std::string& name, T value) {
    if (place) fail(text_, concat("names ", name, " twice; write one fault for each, with \";\" between them"));
    place = value;
  }

  std::int64_t whole(const std::string& name, const std::optional<std::string>& value, std::int64_t minimum,
                     std::int64_t maximum) const {
    try {
      return environment::parse_int(name, value.value_or(""), minimum, maximum);
    } catch (const FormatError& error) {
      fail(text_, concat("is invalid: ", error.what()));
    }
  }

  std::string_view text_;
  Fault fault_;
  std::optional<Kind> kind_;
  std::optional<int> rank_;
  std::optional<std::int64_t> step_;
};

}  // namespace

Fault parse_fault(std::string_view text) { return Reading(text).read(); }

std::vector<Fault> parse_faults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = text.substr(0, end);
    if (!words_of(part).empty()) faults.push_back(parse_fault(part));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return faults;
}

std::string to_text(const Fault& fault) {
  std::string text = concat("rank=", fault.rank, " step=", fault.step, " ", name_of(fault.kind));
  if (fault.kind == Kind::kSlow)
    text += fault.factor != 1 ? concat("=", fault.factor, "x") : concat("=", fault.pause.count(), "s");
  if (fault.peer) text += concat(" peer=", *fault.peer);
  if (!fault.attempt) return text + " attempt=any";
  return *fault.attempt == 0 ? text : concat(text, " attempt=", *fault.attempt);
}

std::string list_of_kinds() { return "kill, stop, slow=0.5s or slow=3x, drop, corrupt, disk-full, nan, oom, batch"; }

bool needs_tcp(Kind kind) noexcept { return kind == Kind::kDrop || kind == Kind::kCorrupt; }

}  // namespace lockstep::fault

#include "exercise/alternatives.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <regex>

#include "01_mini_all_reduce/4_rendezvous_variables/rendezvous_variables.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"regular_expression", "a regular expression, and then std::stoll()"},
    {"strtol", "strtol() with its end pointer and errno, and a look at the first character"},
    {"rank_first", "RANK is read before WORLD_SIZE, and the address last of all"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::rendezvous {

using exercise::is_alternative;

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& text, const std::string& why) {
  throw FormatError(concat("the variable ", name, " has the value '", text, "', ", why));
}

long long parsed(const std::string& name, const std::string& text) {
  if (is_alternative("strtol")) {
    const char first = text[text.starts_with('-') ? 1 : 0];
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (first < '0' || first > '9' || *end != 0 || errno == ERANGE) refuse(name, text, "which is no number");
    return value;
  }
  static const std::regex kNumber("-?[0-9]{1,15}");
  if (!std::regex_match(text, kNumber)) refuse(name, text, "which is no number");
  return std::stoll(text);
}

}  // namespace

int read_number(const VariableLookup& lookup, const std::string& name, int minimum, int maximum) {
  const std::string text = lookup(name).value_or("");
  if (text.empty()) throw FormatError(concat("set ", name, ", please: it is missing"));
  const long long value = parsed(name, text);
  if (value != std::clamp<long long>(value, minimum, maximum))
    refuse(name, text, concat("which is not from ", minimum, " to ", maximum));
  return static_cast<int>(value);
}

Membership read_membership(const VariableLookup& lookup) {
  const int early = is_alternative("rank_first") ? read_number(lookup, "RANK", 0, kMaxWorldSize - 1) : 0;
  const int ranks = read_number(lookup, "WORLD_SIZE", 1, kMaxWorldSize);
  const int rank = is_alternative("rank_first") ? early : read_number(lookup, "RANK", 0, kMaxWorldSize - 1);
  if (rank >= ranks) refuse("RANK", std::to_string(rank), concat("too large for WORLD_SIZE=", ranks));
  if (ranks == 1) return {};
  const int port = read_number(lookup, "MASTER_PORT", 1, kMaxPort);
  const auto address = lookup("MASTER_ADDR");
  if (!address) throw FormatError("MASTER_ADDR is missing");
  return {.rank = rank, .world_size = ranks, .master_addr = *address, .master_port = port};
}

}  // namespace lockstep::rendezvous

#include <algorithm>
#include <charconv>
#include <string_view>

#include "01_mini_all_reduce/4_rendezvous_variables/rendezvous_variables.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"rank_0_by_default", "a process without RANK takes itself for rank 0",
     "Then two processes are rank 0, and both wait. A missing variable is an error."},
    {"no_number_is_0", "a text that is not a number is read as 0, as atoi() does",
     "Use a function that reports whether it has read anything: std::from_chars."},
    {"stops_at_the_first_letter", "what follows the digits is ignored, as std::stoi() does",
     "Compare the place where reading stopped with the end of the text."},
    {"rank_may_equal_world_size", "a RANK that equals WORLD_SIZE is accepted",
     "Ranks are counted from 0. What is the last one of 4?"},
    {"blanks_and_plus", "blanks and a plus in front of the digits are skipped, as std::stoi() and strtol() do",
     "Nothing may be before the digits but a minus: std::from_chars skips nothing."},
    {"this_host_by_default", "a missing MASTER_ADDR is taken for this host",
     "Then the ranks of each host would meet on their own. A missing variable is an error."},
    {"another_exception", "what std::stoi() throws, std::invalid_argument, leaves the function",
     "Catch it, or use std::from_chars, and throw a FormatError that names the variable."},
    {"wraps_around", "a number that does not fit into an int becomes another number",
     "std::from_chars into an int reports result_out_of_range; a cast from a longer type reports nothing."},
    {"one_rank_needs_an_address", "MASTER_ADDR and MASTER_PORT are demanded of a job of one rank",
     "One rank meets nobody. Return before you read them."},
    {"any_port", "the port's range is not checked", "A port has 16 bits, and port 0 means: any."},
    {"world_size_1_by_default", "a missing WORLD_SIZE is taken for 1",
     "Then rank 0 of a large job trains alone. A missing variable is an error."},
    {"port_by_default", "a missing MASTER_PORT has a default",
     "A missing variable is an error: nobody has chosen that port."},
    {"names_rank_only", "the message for a RANK that does not fit WORLD_SIZE does not name WORLD_SIZE",
     "Either of the two may be wrong: put both names and both values into the message."},
    {"message_without_names", "the message does not say which variable is wrong, or what is in it",
     "An operator sees one line from a hundred machines. Begin with NAME=value."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::rendezvous {
namespace {

using exercise::is_mistake;

[[noreturn]] void fail(const std::string& message) {
  throw FormatError(is_mistake("message_without_names") ? "the environment is not what it should be" : message);
}

}  // namespace

int read_number(const VariableLookup& lookup, const std::string& name, int minimum, int maximum) {
  const std::optional<std::string> text = lookup(name);
  if (!text) {
    if (name == "RANK" && is_mistake("rank_0_by_default")) return 0;
    if (name == "WORLD_SIZE" && is_mistake("world_size_1_by_default")) return 1;
    if (name == "MASTER_PORT" && is_mistake("port_by_default")) return 29500;
    fail(concat(name, " is not set"));
  }
  if (is_mistake("another_exception")) (void)std::stoll(*text);
  std::int64_t value = 0;
  std::string_view digits = *text;
  if (is_mistake("blanks_and_plus")) digits.remove_prefix(std::min(digits.find_first_not_of(" \t+"), digits.size()));
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  const bool is_number = error != std::errc::invalid_argument || is_mistake("no_number_is_0");
  const bool is_whole = stop == end || is_mistake("stops_at_the_first_letter") || (stop == digits.data() && is_number);
  if (!is_number || !is_whole) fail(concat(name, "=", *text, " is not a whole number"));
  if (is_mistake("wraps_around")) value = static_cast<int>(value);
  const bool is_any_port = name == "MASTER_PORT" && is_mistake("any_port");
  if (error == std::errc::result_out_of_range || ((value < minimum || value > maximum) && !is_any_port))
    fail(concat(name, "=", *text, " is out of range"));
  return static_cast<int>(value);
}

Membership read_membership(const VariableLookup& lookup) {
  Membership member;
  member.world_size = read_number(lookup, "WORLD_SIZE", 1, kMaxWorldSize);
  member.rank = read_number(lookup, "RANK", 0, kMaxWorldSize);
  if (member.rank >= member.world_size + (is_mistake("rank_may_equal_world_size") ? 1 : 0))
    fail(is_mistake("names_rank_only")
             ? concat("RANK=", member.rank, " is out of range")
             : concat("RANK=", member.rank, " is out of range: WORLD_SIZE=", member.world_size));
  if (member.world_size == 1 && !is_mistake("one_rank_needs_an_address")) return member;
  const std::optional<std::string> host = lookup("MASTER_ADDR");
  if (!host && !is_mistake("this_host_by_default")) fail("MASTER_ADDR is not set");
  member.master_addr = host.value_or("127.0.0.1");
  member.master_port = read_number(lookup, "MASTER_PORT", 1, kMaxPort);
  return member;
}

}  // namespace lockstep::rendezvous

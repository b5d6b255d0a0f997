#include "01_mini_all_reduce/4_rendezvous_variables/rendezvous_variables.hpp"

#include <charconv>

namespace lockstep::rendezvous {

int read_number(const VariableLookup& lookup, const std::string& name, int minimum, int maximum) {
  // SOLUTION(01.4) read_number: refuse what is not set, is not a number from end to end, or is out of range
  const std::optional<std::string> text = lookup(name);
  if (!text) throw FormatError(concat(name, " is not set; start the program with a launcher, or set it"));
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  const bool is_too_large = error == std::errc::result_out_of_range;
  if (stop != end || (error != std::errc{} && !is_too_large))
    throw FormatError(concat(name, "=", *text, " is not a whole number"));
  if (is_too_large || value < minimum || value > maximum)
    throw FormatError(concat(name, "=", *text, " is out of range: it must lie between ", minimum, " and ", maximum));
  return value;
  // END SOLUTION
}

Membership read_membership(const VariableLookup& lookup) {
  Membership member;
  // SOLUTION(01.4) read_membership: read the world size and the rank, compare them, and read where to meet
  member.world_size = read_number(lookup, "WORLD_SIZE", 1, kMaxWorldSize);
  member.rank = read_number(lookup, "RANK", 0, kMaxWorldSize);
  if (member.rank >= member.world_size)
    throw FormatError(concat("RANK=", member.rank, " is out of range: with WORLD_SIZE=", member.world_size,
                             " ranks are 0 to ", member.world_size - 1));
  if (member.world_size == 1) return member;
  const std::optional<std::string> host = lookup("MASTER_ADDR");
  if (!host) throw FormatError("MASTER_ADDR is not set; it names the host of rank 0");
  member.master_addr = *host;
  member.master_port = read_number(lookup, "MASTER_PORT", 1, kMaxPort);
  // END SOLUTION
  return member;
}

}  // namespace lockstep::rendezvous

#include "01_mini_all_reduce/1_framing/framing.hpp"

#include <array>

namespace lockstep::framing {

void send_all(Link& link, std::span<const std::byte> bytes) {
  // TODO(01.1): call send_some() until nothing is left to send
  lockstep::todo("01.1 send_all");
}

std::size_t receive_all(Link& link, std::span<std::byte> bytes) {
  // TODO(01.1): call receive_some() until `bytes` is full or the stream has ended
  lockstep::todo("01.1 receive_all");
}

void send_frame(Link& link, std::span<const std::byte> payload) {
  // TODO(01.1): write the length in four bytes, then send these and the payload
  lockstep::todo("01.1 send_frame");
}

std::optional<std::vector<std::byte>> receive_frame(Link& link) {
  // TODO(01.1): receive the length, check it, then receive as many bytes
  lockstep::todo("01.1 receive_frame");
}

}  // namespace lockstep::framing

#include "comm/transport.hpp"

#include "base/error.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::comm {

void check_same_collective(const net::FrameHeader& expected, std::string_view own_name,
                           const net::FrameHeader& received, std::string_view peer_name) {
  if (received.sequence == expected.sequence && received.tag == expected.tag) return;
  throw MismatchError(concat("ranks called different collectives: ", own_name, " ",
                             describe(from_tag(expected.sequence, expected.tag)), ", ", peer_name, " ",
                             describe(from_tag(received.sequence, received.tag))));
}

}  // namespace lockstep::comm

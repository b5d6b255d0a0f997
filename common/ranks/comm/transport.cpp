#include "comm/transport.hpp"

#include "base/error.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::comm {
namespace {

// `expected` describes the message as the sender does; the receiver has called recv().
Fingerprint as_called(const net::FrameHeader& expected, int sender) {
  Fingerprint call = from_tag(expected.sequence, expected.tag);
  if (call.collective != Collective::kSend) return call;
  call.collective = Collective::kRecv;
  call.root = sender;
  return call;
}

}  // namespace

void check_same_collective(const net::FrameHeader& expected, std::string_view own_name,
                           const net::FrameHeader& received, std::string_view peer_name) {
  if (received.sequence == expected.sequence && received.tag == expected.tag) return;
  throw MismatchError(concat("ranks called different collectives: ", own_name, " ",
                             describe(as_called(expected, received.source_rank)), ", ", peer_name, " ",
                             describe(from_tag(received.sequence, received.tag))));
}

}  // namespace lockstep::comm

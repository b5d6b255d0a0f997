#include "fuzz/store_targets.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "store/protocol.hpp"

namespace lockstep::fuzz {

// What is accepted must be what the writer makes: no two ways to say the same, nothing hidden behind a message.
void run_store_protocol(Input input) {
  try {
    const store::Request request = store::decode_request(input);
    finding_unless(request.key.size() <= store::kMaxKeyBytes, "too long a key was accepted");
    finding_unless(std::ranges::equal(store::encode(request), input), "a request reads as what it is not");
  } catch (const FormatError&) {
  }
  try {
    const store::Reply reply = store::decode_reply(input);
    finding_unless(static_cast<int>(reply.status) <= 2, "an unknown status was accepted");
    finding_unless(std::ranges::equal(store::encode(reply), input), "a reply reads as what it is not");
  } catch (const FormatError&) {
  }
}

Seeds store_protocol_seeds() {
  using store::Operation;
  return {store::encode(store::Request{Operation::kSet, "key", "value", ""}),
          store::encode(store::Request{Operation::kGet, "key", "1000", ""}),
          store::encode(store::Request{Operation::kAdd, "sum", "-3", ""}),
          store::encode(store::Request{Operation::kCompareSet, "key", "new", "old"}),
          store::encode(store::Request{Operation::kErase, "key", "", ""}),
          store::encode(store::Reply{store::Status::kOk, "value"}),
          store::encode(store::Reply{store::Status::kNotAnInteger, ""})};
}

}  // namespace lockstep::fuzz

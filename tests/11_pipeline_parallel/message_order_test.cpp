// Which messages a stage's loop has to exchange, and in which order.
#include "11_pipeline_parallel/gpt/message_order.hpp"

#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;
using Catch::Matchers::ContainsSubstring;
using Message = MessageOrder::Message;
using Direction = Message::Direction;

namespace {

const std::vector<Action> kActions{{Pass::kForward, 1, 0}, {Pass::kForward, 1, 1}, {Pass::kBackward, 1, 0}};
const Message kInput0{Direction::kReceived, Pass::kForward, 0}, kOutput0{Direction::kSent, Pass::kForward, 0},
    kInput1{Direction::kReceived, Pass::kForward, 1}, kOutput1{Direction::kSent, Pass::kForward, 1},
    kGradientFor0{Direction::kReceived, Pass::kBackward, 0}, kGradientOf0{Direction::kSent, Pass::kBackward, 0};

}  // namespace

TEST_CASE("a stage receives before an action and sends after it", "[pipeline]") {
  struct Case {
    bool is_first, is_last;
    std::vector<Message> messages;
  };
  const Case test = GENERATE(Case{false, false, {kInput0, kOutput0, kInput1, kOutput1, kGradientFor0, kGradientOf0}},
                             Case{true, false, {kOutput0, kOutput1, kGradientFor0}},
                             Case{false, true, {kInput0, kInput1, kGradientOf0}}, Case{true, true, {}});
  MessageOrder order(kActions, test.is_first, test.is_last);
  for (const Message& message : test.messages) {
    CHECK_THROWS_AS(order.require_done(), ContractError);
    order.take(message);
  }
  CHECK_NOTHROW(order.require_done());
}

TEST_CASE("a message that is sent twice, left out or too early is found", "[pipeline]") {
  MessageOrder first(kActions, true, false);
  CHECK_THROWS_WITH(first.take(kInput0), ContainsSubstring("about to receive the input of F0, but has to send the "
                                                           "output of F0 first"));
  first.take(kOutput0);
  CHECK_THROWS_WITH(first.take(kOutput0), ContainsSubstring("about to send the output of F0, but has to send the "
                                                            "output of F1 first"));
  first.take(kOutput1);
  CHECK_THROWS_WITH(first.require_done(), ContainsSubstring("done, but it has to receive the gradient for B0"));
  first.take(kGradientFor0);
  CHECK_THROWS_WITH(first.take(kGradientOf0),
                    ContainsSubstring("about to send the gradient of B0, but its actions have "
                                      "no messages left"));
}

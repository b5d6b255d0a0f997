#include "comm/joining/join_barrier.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

// A store that stops replying when the ranks wait for each other.
class StoppingStore final : public store::Store {
 public:
  void set(const std::string&, const std::string&) override {}
  std::string get(const std::string&, const Deadline&) override { fail(); }
  std::optional<std::string> try_get(const std::string&) override { fail(); }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    if (key.find("/missing/") != std::string::npos) fail();
    return amount;
  }
  std::string compare_set(const std::string&, const std::string&, const std::string& desired) override {
    return desired;
  }
  bool erase(const std::string&) override { return false; }

 private:
  [[noreturn]] static void fail() { throw TimeoutError("no reply from the store"); }
};

}  // namespace

TEST_CASE("ranks that a silent store keeps from joining blame it, and no rank", "[comm]") {
  StoppingStore store;
  comm::Membership member;
  member.rank = 0;
  member.world_size = 2;
  comm::JoinBarrier barrier(store, member);
  CHECK_THROWS_WITH(
      barrier.check_in(Deadline::after(std::chrono::seconds(1))),
      ContainsSubstring("rank 0: not all ranks joined within") && ContainsSubstring("no reply from the store"));
}

#include "comm/host/call_queue.hpp"

#include <chrono>
#include <future>
#include <thread>

#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

TEST_CASE("a queue ends once the call that another thread runs has ended, not before", "[comm]") {
  using Call = comm::ProcessGroup::Call;
  constexpr std::uint64_t kSlow = 1;
  for (const bool has_worker : {false, true}) {
    std::promise<void> running, finished;
    const std::future<void> end = finished.get_future();
    bool was_before = false;
    comm::CallQueue queue([&](std::span<const Call> calls) -> std::exception_ptr {
      if (calls.front().sequence != kSlow) return nullptr;
      running.set_value();
      was_before = end.wait_for(100ms) == std::future_status::ready;  // cannot come while this runs
      return nullptr;
    });
    Call quick{.sequence = 0}, slow{.sequence = kSlow};
    if (has_worker) queue.add({&quick, 1}, comm::RunOn::kWorker).synchronize();
    comm::Work work = queue.add({&slow, 1}, comm::RunOn::kCaller);
    std::jthread caller([&work] { work.synchronize(); });
    running.get_future().wait();
    queue.finish();
    finished.set_value();
    caller.join();
    CHECK_FALSE(was_before);
  }
}

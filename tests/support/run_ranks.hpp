#pragma once
/// @file
/// A job of several ranks inside a test: one thread per rank, connected over loopback.
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/rendezvous.hpp"
#include "net/token.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::test {

/// How one rank ended.
struct RankOutcome {
  std::exception_ptr error;  ///< Null where the rank returned.

  [[nodiscard]] bool ok() const noexcept { return error == nullptr; }

  /// what() of the error; empty where there is none.
  [[nodiscard]] std::string message() const {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      return exception.what();
    }
    return "";
  }

  /// Whether the rank ended with an E.
  template <typename E>
  [[nodiscard]] bool is() const {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const E&) {
      return true;
    } catch (...) {
    }
    return false;
  }
};

/// Limits under which a broken test ends within seconds.
[[nodiscard]] inline comm::JobLimits test_limits() {
  using namespace std::chrono_literals;
  return {.join = 20s, .liveness = 15s, .progress_report = 10s, .progress = 20s};
}

/// Runs `rank_main` once per rank, each in its own thread with its own JobContext, and waits for all of them: every
/// wait inside is bounded by `limits`. Ranks never call Catch2's macros: they return, and the test looks afterwards.
inline std::vector<RankOutcome> run_ranks(int world_size, const std::function<void(comm::JobContext)>& rank_main,
                                          const comm::JobLimits& limits = test_limits()) {
  const std::string token = net::make_token();
  store::TcpStoreServer server({}, token);
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(world_size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        comm::RendezvousOptions options;
        options.rank = rank;
        options.world_size = world_size;
        options.token = token;
        options.limits = limits;
        options.local_rank = rank;
        options.local_world_size = world_size;
        options.generation = 0;
        options.store = server.address().text();
        rank_main(comm::rendezvous("env://", options));
      } catch (...) {
        outcomes[rank].error = std::current_exception();
      }
    });
  }
  threads.clear();  // joins
  return outcomes;
}

/// As run_ranks, for ranks that return a value: the values by rank.
/// @throws  The error of the lowest rank that failed.
template <typename T>
std::vector<T> run_ranks_for(int world_size, const std::function<T(comm::JobContext)>& rank_main,
                             const comm::JobLimits& limits = test_limits()) {
  std::vector<T> values(static_cast<std::size_t>(world_size));
  const auto outcomes = run_ranks(
      world_size,
      [&](comm::JobContext context) {
        const int rank = context.rank;
        values[rank] = rank_main(std::move(context));
      },
      limits);
  for (const RankOutcome& outcome : outcomes) {
    if (outcome.error) std::rethrow_exception(outcome.error);
  }
  return values;
}

}  // namespace lockstep::test

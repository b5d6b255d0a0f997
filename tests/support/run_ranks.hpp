#pragma once
/// @file
/// A job of several ranks inside a test: one thread per rank, connected over loopback or, if mpirun started the test as
/// several processes, one process per rank.
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "net/token.hpp"
#include "store/tcp_store.hpp"
#include "support/test_processes.hpp"

namespace lockstep::test {

struct RankOutcome {
  std::exception_ptr error;  ///< Null if the rank returned.

  [[nodiscard]] bool ok() const noexcept { return error == nullptr; }

  /// what() of the error; empty if there is none.
  [[nodiscard]] std::string message() const {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const std::exception& exception) {
      return exception.what();
    }
    return "";
  }

  /// True if the rank ended with an E.
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

/// Limits that end a broken test within seconds.
[[nodiscard]] inline comm::JobLimits test_limits() {
  using namespace std::chrono_literals;
  return {.join = 20s, .liveness = 15s, .progress_report = 10s, .progress = 20s};
}

/// run_ranks() if this process is one of several ranks: every process returns the outcomes of all. A job of more ranks
/// than processes is not run; in a smaller one the last processes only wait.
inline std::vector<RankOutcome> run_ranks_on_processes(const TestProcesses& processes, int world_size,
                                                       const std::function<void(comm::JobContext)>& rank_main,
                                                       const comm::JobLimits& limits) {
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(world_size));
  if (world_size > processes.count()) return outcomes;
  const std::string name = processes.next_name();
  RankOutcome own;
  if (processes.rank() < world_size) {
    try {
      comm::RendezvousOptions options;
      options.rank = options.local_rank = processes.rank();
      options.world_size = options.local_world_size = world_size;
      options.limits = limits;
      rank_main(comm::rendezvous("file://" + processes.path(name + "_store").string(), options));
    } catch (...) {
      own.error = std::current_exception();
    }
  }
  const std::vector<std::string> messages = processes.exchange(name, world_size, own.message());
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    if (!messages[rank].empty()) outcomes[rank].error = std::make_exception_ptr(Error(messages[rank]));
  }
  return outcomes;
}

/// Runs `rank_main` once per rank, each in its own thread with its own JobContext, and waits for all of them; `limits`
/// bounds every wait inside. Ranks never call Catch2's macros: they return, and the test asserts afterwards.
inline std::vector<RankOutcome> run_ranks(int world_size, const std::function<void(comm::JobContext)>& rank_main,
                                          const comm::JobLimits& limits = test_limits()) {
  if (const auto* processes = TestProcesses::current()) {
    return run_ranks_on_processes(*processes, world_size, rank_main, limits);
  }
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

/// Like run_ranks(), for ranks that return a value: the values by rank.
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
  if (const auto* processes = TestProcesses::current()) return processes->exchange_values(world_size, values);
  return values;
}

}  // namespace lockstep::test

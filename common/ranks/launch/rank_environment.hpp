#pragma once
/// @file
/// The environment of a job's ranks: torchrun's variables and the project's own.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/cores.hpp"

namespace lockstep::launch {

/// A TCP port that no other job gets while this object lives: bound, never listened on. A rank that sets SO_REUSEADDR,
/// as every rendezvous does, can still listen on it.
class ReservedPort {
 public:
  /// The hosts that can reach the port.
  enum class Reach {
    kThisHost,  ///< On the loopback address.
    kAllHosts,  ///< On all addresses.
  };
  /// @throws IoError  No port is free.
  explicit ReservedPort(Reach reach = Reach::kThisHost);
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  UniqueFd socket_;
  int number_ = 0;
};

/// 256 random bits in hexadecimal: the secret that the ranks of a job prove to each other.
/// @throws IoError  No random bytes are available.
[[nodiscard]] std::string make_token();

/// Variables as (name, value); a later one replaces an earlier one of the same name.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// The variables through which a job's ranks on this host find each other: torchrun's, the address of the job's store,
/// and its token.
[[nodiscard]] Variables meeting_variables(int world_size, const ReservedPort& port, const std::string& store,
                                          const std::string& token);

/// OMP_NUM_THREADS (usable cores over ranks, at least 1) unless the user has set it; if ranks times threads exceed the
/// cores, also a wait policy that sleeps instead of spinning, unless the user has set one.
[[nodiscard]] Variables thread_variables(int local_world_size, const Cores& cores);

/// This process's environment without RANK and LOCAL_RANK (the reaper adds them), with `changes` applied, as
/// "NAME=value".
[[nodiscard]] std::vector<std::string> merged_environment(const Variables& changes);

}  // namespace lockstep::launch

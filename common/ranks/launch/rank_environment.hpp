#pragma once
/// @file
/// What the ranks of a job find in their environment: torchrun's variables and the project's own.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/cores.hpp"

namespace lockstep::launch {

/// A TCP port that no other job gets while this lives: bound, never listened on. A rank that
/// sets SO_REUSEADDR, as every rendezvous does, can still listen on it.
class ReservedPort {
 public:
  /// Who shall be able to reach the port.
  enum class Reach {
    kThisHost,  ///< It is one of the loopback address.
    kAllHosts,  ///< It is one of all addresses.
  };
  /// @throws IoError  No port is free.
  explicit ReservedPort(Reach reach = Reach::kThisHost);
  /// The port.
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  UniqueFd socket_;
  int number_ = 0;
};

/// 256 random bits in hexadecimal: the secret that the ranks of a job prove to each other.
/// @throws IoError  The kernel gives no random bytes.
[[nodiscard]] std::string make_token();

/// Variables as (name, value); a later one replaces an earlier one of the same name.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// How the ranks of a job on this host find each other: torchrun's variables, the address of the job's store, its
/// token.
[[nodiscard]] Variables meeting_variables(int world_size, const ReservedPort& port, const std::string& store,
                                          const std::string& token);

/// OMP_NUM_THREADS (usable cores over ranks, at least 1) unless the user has set it; where ranks times threads exceed
/// the cores, also a wait policy that sleeps instead of spinning, unless the user has set one.
[[nodiscard]] Variables thread_variables(int local_world_size, const Cores& cores);

/// This process's environment without RANK and LOCAL_RANK (the reaper adds them), with `changes` on top, as
/// "NAME=value".
[[nodiscard]] std::vector<std::string> merged_environment(const Variables& changes);

}  // namespace lockstep::launch

#pragma once
// What a process knows about its place in the job before it has talked to anybody; not for others.
#include <filesystem>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "comm/joining/job_environment.hpp"
#include "comm/rendezvous.hpp"
#include "net/address.hpp"

namespace lockstep::comm {

constexpr int kMaxWorldSize = 65536;

struct Membership {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  int generation = 0;
  std::optional<net::SocketAddress> running_store;  // one that runs already: the launcher's
  net::SocketAddress store;                         // where rank 0 serves it otherwise
  std::filesystem::path store_file;                 // where it is instead, for file://; else empty
};

// Reads `init_method`, the options and the environment. Throws FormatError naming what is missing or wrong.
[[nodiscard]] Membership read_membership(const std::string& init_method, const RendezvousOptions& options,
                                         const VariableLookup& lookup = environment::get);

// limits_from_environment() with another environment.
[[nodiscard]] JobLimits read_limits(const VariableLookup& lookup);

}  // namespace lockstep::comm

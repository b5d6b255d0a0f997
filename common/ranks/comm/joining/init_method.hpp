#pragma once
// A process's place in the job, as far as it is known before it contacts other processes. Internal to this module.
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
  std::optional<net::SocketAddress> running_store;  // the launcher's, if there is one
  net::SocketAddress store;                         // otherwise, served by rank 0 at this address
  std::filesystem::path store_file;                 // used instead for file://; else empty
};

// Reads `init_method`, the options and the environment. Throws FormatError naming what is missing or wrong.
[[nodiscard]] Membership read_membership(const std::string& init_method, const RendezvousOptions& options,
                                         const VariableLookup& lookup = environment::get);

// limits_from_environment() with variables read through `lookup`.
[[nodiscard]] JobLimits read_limits(const VariableLookup& lookup);

}  // namespace lockstep::comm

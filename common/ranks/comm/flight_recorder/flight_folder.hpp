#pragma once
/// @file
/// Where ranks record that no launcher of ours has started, and nobody told where.
#include <filesystem>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "net/address.hpp"

namespace lockstep::comm {

/// A folder in state_folder() that the ranks of a job on this host share: they come to the same name by what they have
/// in common, where they meet. Each holds a lock while it lives, so that `lockstep trace --live` finds the job among
/// those that run, and the launcher removes what ranks that were killed have left. The last rank to end removes it.
class FlightFolder {
 public:
  /// Joins the others of a job, or makes the folder: without the records of an earlier job with this name.
  /// @throws IoError  It cannot be made or locked.
  explicit FlightFolder(const std::string& name);
  FlightFolder(const FlightFolder&) = delete;
  FlightFolder& operator=(const FlightFolder&) = delete;
  ~FlightFolder();

  /// Where the records are.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  [[nodiscard]] bool join();
  void remove_records() const noexcept;

  std::filesystem::path path_;
  UniqueFd lock_;
};

/// The name of the folder of a job that meets at `address`.
[[nodiscard]] std::string flight_folder_name(const net::SocketAddress& address);

/// A recorder in such a folder; null where there can be none (no room, a system that is read-only): nobody has asked
/// for one.
[[nodiscard]] std::shared_ptr<FlightRecorder> record_in_own_folder(const net::SocketAddress& meeting, int rank,
                                                                   int world_size, int generation) noexcept;

}  // namespace lockstep::comm

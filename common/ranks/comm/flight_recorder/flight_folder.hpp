#pragma once
/// @file
/// The folder for flight records of ranks that were not started by our launcher and have no LOCKSTEP_FLIGHT_DIR.
#include <filesystem>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "net/address.hpp"

namespace lockstep::comm {

/// A folder in state_folder() that the ranks of a job on this host share: they derive the same name from their meeting
/// address. Each holds a lock while it lives, so that `lockstep trace --live` finds running jobs, and the launcher
/// removes leftovers of killed ranks. The last rank to end removes the folder.
class FlightFolder {
 public:
  /// Opens the folder of a job, or creates it without the records of an earlier job with this name.
  /// @throws IoError  It cannot be made or locked.
  explicit FlightFolder(const std::string& name);
  FlightFolder(const FlightFolder&) = delete;
  FlightFolder& operator=(const FlightFolder&) = delete;
  ~FlightFolder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  [[nodiscard]] bool join();
  void remove_records() const noexcept;

  std::filesystem::path path_;
  UniqueFd lock_;
};

/// The name of the folder of a job that meets at `address`.
[[nodiscard]] std::string flight_folder_name(const net::SocketAddress& address);

/// A recorder in such a folder; null if it cannot be made (disk full, read-only file system), because nobody asked for
/// one.
[[nodiscard]] std::shared_ptr<FlightRecorder> record_in_own_folder(const net::SocketAddress& meeting, int rank,
                                                                   int world_size, int generation) noexcept;

}  // namespace lockstep::comm

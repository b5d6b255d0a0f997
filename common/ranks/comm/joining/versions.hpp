#pragma once
/// @file
/// Versions that ranks compare at the start: differences explain slow ranks and differing results.
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace lockstep::comm {

/// One rank's versions. The device fields are empty in builds without a device.
struct Versions {
  std::string host;
  std::string lockstep;
  std::string processor;  ///< Model of the CPU.
  std::string device;     ///< Model of the GPU.
  std::string driver;     ///< Newest CUDA version that the GPU driver can run.
  std::string cuda;       ///< Version of the CUDA runtime.
  std::string nccl;

  bool operator==(const Versions&) const = default;
};

/// The versions of this process and machine.
[[nodiscard]] Versions own_versions();

/// One line per field, "name=value"; line ends within a value become spaces.
[[nodiscard]] std::string encode(const Versions& versions);
/// Ignores unknown fields and leaves missing ones empty. @throws FormatError  A line without '='.
[[nodiscard]] Versions decode_versions(std::string_view text);

/// Fields that differ between ranks, apart from host names: "ranks differ in lockstep: 0.1.0 on ranks 0, 2; 0.2.0 on
/// rank 1 (host b)". Empty if nothing differs.
[[nodiscard]] std::string describe_differences(const std::vector<Versions>& by_rank);

/// Publishes this rank's versions under `prefix`. Call before the rank checks in, so that all can be read once all
/// ranks have.
void publish_versions(store::Store& store, const std::string& prefix, int rank, const Versions& versions);
/// The versions that `rank` published under `prefix`. @throws TimeoutError  None by `deadline`.
[[nodiscard]] Versions read_versions(store::Store& store, const std::string& prefix, int rank,
                                     const Deadline& deadline);

}  // namespace lockstep::comm

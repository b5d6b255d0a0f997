#pragma once
/// @file
/// What ranks compare at the start: a difference explains slow ranks and results that differ.
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace lockstep::comm {

/// Of one rank. Fields of a build without a device are empty.
struct Versions {
  std::string host;       ///< Its name.
  std::string lockstep;   ///< This software's.
  std::string processor;  ///< Model of the CPU.
  std::string device;     ///< Model of the GPU.
  std::string driver;     ///< Of the GPU: the newest CUDA that it can run.
  std::string cuda;       ///< Of the runtime.
  std::string nccl;       ///< Of the library.

  bool operator==(const Versions&) const = default;
};

/// Of this process on this machine.
[[nodiscard]] Versions own_versions();

/// One line per field, "name=value"; line ends within a value become spaces.
[[nodiscard]] std::string encode(const Versions& versions);
/// Fields that it does not know are ignored, those that are missing stay empty. @throws FormatError  A line without
/// '='.
[[nodiscard]] Versions decode_versions(std::string_view text);

/// What is not the same on all ranks, host names aside: "ranks differ in lockstep: 0.1.0 on ranks 0, 2; 0.2.0 on rank 1
/// (host b)". Empty where nothing differs.
[[nodiscard]] std::string describe_differences(const std::vector<Versions>& by_rank);

/// Under `prefix`: makes this rank's known, before it says that it is there; and reads everybody's once all are.
void publish_versions(store::Store& store, const std::string& prefix, int rank, const Versions& versions);
/// What `rank` has published under `prefix`. @throws TimeoutError  It has not by `deadline`.
[[nodiscard]] Versions read_versions(store::Store& store, const std::string& prefix, int rank,
                                     const Deadline& deadline);

}  // namespace lockstep::comm

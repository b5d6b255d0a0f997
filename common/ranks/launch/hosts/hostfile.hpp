#pragma once
/// @file
/// The list of a job's hosts, in the form that Open MPI and DeepSpeed read.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::launch {

/// One host of the list.
struct HostEntry {
  std::string host;  ///< Name or address, without the brackets of an IPv6 address.
  std::string user;  ///< From "user@host"; empty: ssh's default.
  int slots = 0;     ///< Ranks that fit there; 0: not given.
  int line = 1;      ///< Of its first mention.
  bool operator==(const HostEntry&) const = default;
};

/// Parses a list of hosts. A line names a host and the number of ranks that fit there:
///
///     # two machines
///     node1 slots=4
///     alice@node2 slots=4 max_slots=8
///     [fd00::7]
///
/// A host on several lines has the slots of all of them; a line without a number then counts one (as for Open MPI and
/// PBS).
/// @param name  The file's name, for messages.
/// @throws FormatError  Names the file, the line, the problem and a valid form.
[[nodiscard]] std::vector<HostEntry> parse_hostfile(std::string_view text, const std::string& name);

/// The hosts of a file. @throws IoError  It cannot be read. @throws FormatError  As parse_hostfile().
[[nodiscard]] std::vector<HostEntry> read_hostfile(const std::filesystem::path& file);

}  // namespace lockstep::launch

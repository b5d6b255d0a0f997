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
  std::string host;  ///< Name or number, without the brackets of an IPv6 address.
  std::string user;  ///< Of "user@host"; empty: as ssh decides.
  int slots = 0;     ///< Ranks that fit there; 0: the file does not say.
  int line = 1;      ///< Where the file names it first.
  bool operator==(const HostEntry&) const = default;
};

/// The hosts that `text` lists, in its order. A line names a host, and how many ranks fit there:
///
///     # two machines
///     node1 slots=4
///     alice@node2 slots=4 max_slots=8
///     [fd00::7]
///
/// A host on several lines has the slots of all of them; lines that do not say count one each then (so Open MPI and
/// PBS's list of nodes mean it).
/// @param name  Of the file, for messages.
/// @throws FormatError  Names file, line, what is wrong and what is right.
[[nodiscard]] std::vector<HostEntry> parse_hostfile(std::string_view text, const std::string& name);

/// The hosts of a file. @throws IoError  It cannot be read. @throws FormatError  As parse_hostfile().
[[nodiscard]] std::vector<HostEntry> read_hostfile(const std::filesystem::path& file);

}  // namespace lockstep::launch

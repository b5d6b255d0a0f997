#pragma once
/// @file
/// Traces as files in Chrome's trace event format, which chrome://tracing and ui.perfetto.dev open.
/// @source  "Trace Event Format", Google, section "JSON Object Format": ph X (complete) and M (metadata).
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trace/recorder.hpp"

namespace lockstep::trace {

/// "trace_rank3.json".
[[nodiscard]] std::string trace_file_name(int rank);

/// Writes ranks as processes and lanes as threads of one trace. Times are microseconds. Replaces an existing file.
/// @throws IoError  The file cannot be written.
void write_trace(const std::filesystem::path& path, std::span<const RankTrace> ranks);

/// Reads a file written by write_trace().
/// @throws IoError      It cannot be read.
/// @throws FormatError  It is not a trace file.
[[nodiscard]] std::vector<RankTrace> read_trace(const std::filesystem::path& path);

/// Puts ranks on one time axis that starts at 0: by the common steady clock if they share a host, otherwise by wall
/// clock (and then only as exactly as the hosts' clocks agree).
[[nodiscard]] std::vector<RankTrace> align(std::vector<RankTrace> ranks);

/// Reads and aligns all files trace_rank0.json, trace_rank1.json, ... of a folder.
/// @throws IoError, FormatError  See read_trace(); IoError also if there is no such file.
[[nodiscard]] std::vector<RankTrace> read_trace_folder(const std::filesystem::path& folder);

}  // namespace lockstep::trace

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
/// @param rank  Whose trace.
[[nodiscard]] std::string trace_file_name(int rank);

/// Writes ranks as processes and lanes as threads of one trace. Times are microseconds.
/// @param path   Replaced where it exists.
/// @param ranks  One or several.
/// @throws IoError  The file cannot be written.
void write_trace(const std::filesystem::path& path, std::span<const RankTrace> ranks);

/// Reads a file written by write_trace().
/// @param path  The file.
/// @throws IoError      It cannot be read.
/// @throws FormatError  It is not such a file.
[[nodiscard]] std::vector<RankTrace> read_trace(const std::filesystem::path& path);

/// Puts ranks on one time axis that starts at 0: by their common steady clock where they share a host, else by wall
/// clock (then as exact as the hosts' clocks agree).
/// @param ranks  As recorded.
[[nodiscard]] std::vector<RankTrace> align(std::vector<RankTrace> ranks);

/// Reads and aligns the files trace_rank0.json, trace_rank1.json, ... of a folder, as many as there are.
/// @param folder  Where the ranks wrote them.
/// @throws IoError, FormatError  As read_trace(); IoError where there is none.
[[nodiscard]] std::vector<RankTrace> read_trace_folder(const std::filesystem::path& folder);

}  // namespace lockstep::trace

#pragma once
/// @file
/// Submissions as files: a zip that `submit` writes, and what is taken out of one that somebody sends.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockstep::grading {

/// Files by their path in an archive, with slashes: "work/02.1_reduce_scatter/reduce_scatter.cpp".
using Files = std::map<std::string, std::string>;

/// What may be read of a submission. Beyond it nothing is read, so that an archive that unpacks to a terabyte costs
/// no more than another one.
struct ArchiveLimits {
  std::size_t files = 2000;                               ///< Entries looked at.
  std::uint64_t bytes_per_file = std::uint64_t{1} << 20;  ///< Of a file that is wanted.
  std::uint64_t bytes_per_entry = std::uint64_t{64}
                                  << 20;  ///< Of any entry, and of the archive: to skip costs time, too.
  std::uint64_t bytes_in_all = std::uint64_t{256} << 20;  ///< Of all entries together, those that are skipped too.
};

/// What was in a submission.
struct Submission {
  Files files;                        ///< Those that were wanted.
  std::vector<std::string> refusals;  ///< What was not taken and should be known: "a symbolic link: work/x".
};

/// Writes a zip with these files, byte for byte the same for the same files. @throws IoError  It cannot be written.
void write_zip(const std::filesystem::path& path, const Files& files);

/// The wanted files of a submission: a folder, or an archive in any format that libarchive knows. Only regular files
/// are taken; links, devices, absolute paths and paths with ".." are refused, and nothing is written anywhere.
/// @param is_wanted  By path, without the folder around everything that some programs add.
/// @throws FormatError  It is no archive, or a damaged one.
[[nodiscard]] Submission read_submission(const std::filesystem::path& path,
                                         const std::function<bool(const std::string& path)>& is_wanted,
                                         const ArchiveLimits& limits = {});

}  // namespace lockstep::grading

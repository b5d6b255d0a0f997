#pragma once
/// @file
/// Submissions as files: writes the zip of `submit`, and reads archives from others.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::grading {

/// Files by path in an archive, with slashes: "work/02.1_reduce_scatter/reduce_scatter.cpp".
using Files = std::map<std::string, std::string>;

/// Limits on reading a submission. Reading stops there: an archive that unpacks to a terabyte costs no more than
/// another.
struct ArchiveLimits {
  std::size_t files = 20'000;                             ///< Entries; a clone of the whole course has about 4500.
  std::uint64_t bytes_per_file = std::uint64_t{1} << 20;  ///< Of a wanted file.
  std::uint64_t bytes_per_entry = std::uint64_t{64}
                                  << 20;  ///< Of any entry, and of the archive: to skip costs time, too.
  std::uint64_t bytes_in_all = std::uint64_t{256} << 20;  ///< Of all entries together, including skipped ones.
};

/// The contents of a submission.
struct Submission {
  Files files;                        ///< The wanted ones.
  std::vector<std::string> refusals;  ///< Entries refused, to be reported: "a symbolic link: work/x".
  std::set<std::string> others = {};  ///< Files that are not wanted: the first five, by name.
};

/// True for a folder in a clone that is not handed in: git's own, and what a build has written.
/// @param depth  Of the folder: 0 at the top of the clone, 1 if there is a folder around it.
[[nodiscard]] bool is_left_out(const std::filesystem::path& folder, int depth);

/// Writes a zip of these files; equal files give equal bytes. A zip that is there already is replaced at the end, and
/// stays as it is on an error. @throws IoError  It cannot be written.
void write_zip(const std::filesystem::path& path, const Files& files);

/// Reads the wanted files of a submission: a folder, or an archive in any format that libarchive supports. Takes only
/// regular files; refuses links, devices, absolute paths and paths with "..", and writes nothing.
/// @param is_wanted  Called with the path, without the folder around everything that some programs add.
/// @throws FormatError  It is not an archive, or a damaged one, or has too many entries, or unpacks to too much.
[[nodiscard]] Submission read_submission(const std::filesystem::path& path,
                                         const std::function<bool(const std::string& path)>& is_wanted,
                                         const ArchiveLimits& limits = {});

/// The files of an archive, unpacked without using their names.
struct Unpacked {
  std::vector<std::pair<std::string, std::filesystem::path>> files;  ///< Name in the archive, and place on the disk.
  std::vector<std::string> refusals;                                 ///< As in Submission.
};

/// Unpacks the regular files of an archive into a folder, as 1.zip, 2.zip, ..., whatever they are. Of a file that is
/// larger than a submission may be, one byte more than that is written.
/// @throws FormatError  It is not an archive, or a damaged one, or has too many entries.
[[nodiscard]] Unpacked unpack_under_numbers(const std::filesystem::path& archive, const std::filesystem::path& folder,
                                            const ArchiveLimits& limits = {});

}  // namespace lockstep::grading

#pragma once
/// @file
/// Whole files in and out, with errors that name them.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// The bytes of a file. @throws IoError  It cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Reads a file of any size through a small buffer.
/// @param use   Called with its bytes in order, a piece at a time; not called if the file is empty.
/// @throws IoError  It cannot be read.
void read_in_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& use);

/// Writes a file, replacing an existing one, and fsyncs it. Not atomic: if that matters, write a temporary file and
/// rename it.
/// @throws IoError  It cannot be written.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes a file's content, or a folder's list of names, survive a power failure (fsync).
/// @throws IoError  It cannot be opened, or the system refused.
void sync_to_disk(const std::filesystem::path& path);

/// Writes all bytes to an open descriptor.
/// @param path  For messages. @throws IoError  The disk is full, for example.
void write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

}  // namespace lockstep

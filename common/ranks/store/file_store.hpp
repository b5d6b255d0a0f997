#pragma once
/// @file
/// The Store in a shared file: for ranks that have a folder in common, but no address.
#include <filesystem>
#include <map>
#include <mutex>

#include "base/unique_fd.hpp"
#include "store/store.hpp"

namespace lockstep::store {

/// Keys and values in one file, shared by every process that has it open. Changes are appended, each with a checksum,
/// under a lock that the kernel releases if its holder dies; incomplete changes are ignored.
///
/// The content lives as long as some process has the file open. A process that opens it while no other has it open
/// starts with an empty store, whatever a crashed run has left there; the last one to close it removes the file.
/// Processes that share a store must therefore have it open at the same time, like the ranks of a job.
///
/// Only this user can access the file (mode 0600). A network file system must support locks across hosts, like NFS 4.
/// Thread safety: any thread.
class FileStore final : public Store {
 public:
  /// Opens or creates the file; its folder must exist.
  /// @throws IoError       The file cannot be opened or created, or its file system does not support locks.
  /// @throws Error         It belongs to another user, others can access it, or it is not a regular file.
  /// @throws TimeoutError  Another process still holds the lock at `deadline`.
  FileStore(std::filesystem::path path, const Deadline& deadline);
  ~FileStore() override;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  void set(const std::string& key, const std::string& value) override;
  /// @cost  Polls the file's length, at first every millisecond, then every 20 ms.
  [[nodiscard]] std::string get(const std::string& key, const Deadline& deadline) override;
  [[nodiscard]] std::optional<std::string> try_get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool erase(const std::string& key) override;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  class Lock;
  void open(const Deadline& deadline);
  [[nodiscard]] bool try_open(const Deadline& deadline);
  void check_owner() const;
  void refresh();
  void append(const std::string& key, const std::optional<std::string>& value);

  const std::filesystem::path path_;
  std::mutex mutex_;  // guards the members below
  UniqueFd fd_;
  std::map<std::string, std::string> values_;
  std::uint64_t read_bytes_ = 0;  // size of the part already in values_
};

}  // namespace lockstep::store

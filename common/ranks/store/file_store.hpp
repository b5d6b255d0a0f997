#pragma once
/// @file
/// The Store in a file that all ranks can reach: for ranks that know a folder in common and no address.
#include <filesystem>
#include <map>
#include <mutex>

#include "base/unique_fd.hpp"
#include "store/store.hpp"

namespace lockstep::store {

/// Keys and values in one file, shared by every process that has it open. Changes are appended, each with a checksum,
/// under a lock that the kernel takes back from a process that dies; a change that its writer did not finish is none.
///
/// The content lives as long as somebody has the file open: whoever opens it while nobody else has, begins with an
/// empty store, whatever an earlier run that crashed has left there; whoever closes it last removes the file. So
/// those who share a store must have it open at the same time (as the ranks of a job have).
///
/// The file is this user's alone (mode 0600). On a network file system it needs locks that reach across hosts (NFS 4
/// has them). Thread safety: any thread.
class FileStore final : public Store {
 public:
  /// Opens or makes the file; its folder must exist.
  /// @throws IoError       The file cannot be made, or its file system has no locks.
  /// @throws Error         It belongs to another user, others can read it, or it is no regular file.
  /// @throws TimeoutError  Another process holds the lock until `deadline`.
  FileStore(std::filesystem::path path, const Deadline& deadline);
  ~FileStore() override;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  void set(const std::string& key, const std::string& value) override;
  /// @cost  Looks at the file's length every few milliseconds.
  [[nodiscard]] std::string get(const std::string& key, const Deadline& deadline) override;
  [[nodiscard]] std::optional<std::string> try_get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool erase(const std::string& key) override;

  /// Where it is.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  class Lock;
  void open(const Deadline& deadline);
  [[nodiscard]] bool try_open(const Deadline& deadline);
  void check_owner() const;
  void refresh();
  void append(const std::string& key, const std::optional<std::string>& value);

  const std::filesystem::path path_;
  std::mutex mutex_;  // guards what follows
  UniqueFd fd_;
  std::map<std::string, std::string> values_;
  std::uint64_t read_bytes_ = 0;  // how much of the file is in values_
};

}  // namespace lockstep::store

#pragma once
/// @file
/// Memory that all ranks of a group have mapped: one anonymous file (memfd), which has no name and disappears with the
/// processes, however they end.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "comm/job_context.hpp"
#include "comm/shared_memory/doorbell.hpp"

namespace lockstep::comm {

/// Values that a test may inject.
struct SharedMemoryOptions {
  /// Replaces the kernel's boot id: ranks share memory if it is equal on all. Empty: this rank cannot share memory.
  std::optional<std::string> host_id;
};

/// When a region gets its memory.
enum class Reserve {
  kNow,    ///< All of it, so that no access can fail.
  kOnUse,  ///< Each part in a reserve() before its first use: for regions that are mostly unused.
};

/// A part of the shared file, mapped into this process as long as its SharedMemory lives; zeros at first.
struct SharedRegion {
  std::byte* data = nullptr;  ///< Address in this process; it differs between ranks.
  std::size_t bytes = 0;      ///< The requested size, rounded up to whole pages.
  std::uint64_t offset = 0;   ///< In the file; ranks exchange offsets instead of addresses.
};

struct SharedMemoryResult;

/// The shared file of one group, and the waits on it.
///
/// Collective calls (grow, all_gather) are made by all ranks in the same order, from one thread at a time. at(),
/// interrupt() and is_interrupted(): any thread.
class SharedMemory {
 public:
  /// A rank's contribution to all_gather(); the caller defines its meaning.
  struct Note {
    std::uint64_t bytes = 0;  ///< A size or an offset.
    std::int64_t number = 0;  ///< An errno, an index.
  };

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int rank() const noexcept { return context_.rank; }
  [[nodiscard]] int world_size() const noexcept { return context_.world_size; }

  /// Extends the file by `bytes` (at least 1) on all ranks. Regions of 2 MiB or more request huge pages.
  /// @throws IoError        Not enough memory (on all ranks: rank 0 reserves it, so that no access fails later); or a
  ///                        rank cannot map it; names the rank.
  /// @throws MismatchError  Ranks ask for different sizes.
  /// @throws TimeoutError   Names a rank that did not call. @throws PeerFailedError  A rank died.
  /// @cost  Touches every page once.
  [[nodiscard]] SharedRegion grow(std::size_t bytes, const Deadline& deadline, Reserve reserve = Reserve::kNow);

  /// Allocates memory for the `bytes` bytes at `data`, in a region of Reserve::kOnUse, unless they have it already.
  /// Every rank calls it before it uses them, in any order.
  /// @throws IoError  Not enough memory. @cost  A system call.
  void reserve(const std::byte* data, std::size_t bytes) const;

  /// Memory allocated to the whole file.
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept;

  /// Every rank's note, by rank. Memory written before it is visible to all after it. @throws  As grow().
  /// @param what  For messages: "growing shared memory".
  [[nodiscard]] std::vector<Note> all_gather(const Note& own, std::string_view what, const Deadline& deadline);

  /// @throws MismatchError  The notes differ in `bytes`; names two ranks and their amounts.
  void check_same_bytes(const std::vector<Note>& notes) const;

  /// Address in this process of the `bytes` bytes at `offset` of the file.
  /// @throws FormatError  They are not inside one mapped region.
  [[nodiscard]] std::byte* at(std::uint64_t offset, std::size_t bytes) const;
  /// "rank 3", by its number in the job, for messages.
  [[nodiscard]] std::string name_of(int peer) const;

  /// Tells the others that this rank is done with the group: a rank that waits for it notices within Waiter::kSlice.
  /// Earlier writes remain valid.
  void leave() noexcept;
  /// Whether `peer` has called leave().
  [[nodiscard]] bool has_left(int peer) const noexcept;

  /// Waits until `peer` makes `ready` true. @return  False if `deadline` passed first.
  /// @param ready  As for Waiter::wait().
  /// @throws LinkError  The peer has left without doing it. @throws  What the waiter's check throws.
  template <typename Ready>
  [[nodiscard]] bool wait_for(int peer, Waiter& waiter, const Ready& ready, const Deadline& deadline) const {
    if (ready()) return true;
    if (!waiter.wait([&] { return ready() || has_left(peer); }, deadline)) return false;
    if (!ready()) throw_left(peer);  // checks again: the peer may have done it just before it left
    return true;
  }
  /// @throws PeerFailedError, MismatchError  The job has failed. @throws LinkError  Otherwise; names the peer.
  [[noreturn]] void throw_left(int peer) const;

  /// A waiter at `own` whose waits fail if the job fails or interrupt() is called. It must not outlive this object.
  [[nodiscard]] Waiter make_waiter(Doorbell& own);

  /// Makes running and later waits fail with IoError within Waiter::kSlice.
  void interrupt() noexcept { is_interrupted_ = true; }
  /// @throws IoError  interrupt() was called. @cost  One read of memory, cheap enough for the start of every call.
  void check_not_interrupted() const;

 private:
  friend class SharedMemoryExchange;
  struct ControlPage;

  SharedMemory(const JobContext& context, UniqueFd file);
  [[nodiscard]] SharedRegion add_region(std::uint64_t offset, std::size_t bytes, Reserve reserve);
  void open_control_page();
  [[nodiscard]] static std::size_t control_page_bytes(int world_size) noexcept;
  void check_running() const;

  JobContext
      context_;  // without store and control plane: memory may outlive the group, and must not keep it in the job
  std::weak_ptr<ControlPlane> job_;
  UniqueFd file_;
  std::uint64_t end_ = 0;  // of the file
  std::uint64_t steps_ = 0;
  std::atomic<bool> is_interrupted_ = false;
  ControlPage* control_ = nullptr;
  std::optional<Waiter> waiter_;

  mutable std::mutex mutex_;           // guards regions_
  std::vector<SharedRegion> regions_;  // by offset, which is also the order of creation
};

/// Result of make_shared_memory().
struct SharedMemoryResult {
  std::shared_ptr<SharedMemory> memory;  ///< Null if any rank cannot share memory with the others.
  std::string reason;                    ///< Why it is null; the same on all ranks.
};

/// Gives the ranks of a group shared memory if they run on one host: their boot ids are equal, and rank 0's descriptor
/// reached all of them through an authenticated local socket (either can fail in containers). All ranks get the same
/// answer. Collective.
///
/// @param group  Name of the group, unique in the job and generation: concat("ring/", group_id()).
/// @throws TimeoutError  Names the ranks that did not answer by `deadline`. @throws PeerFailedError  A rank died; names
///         it.
[[nodiscard]] SharedMemoryResult make_shared_memory(const JobContext& context, std::string_view group,
                                                    const Deadline& deadline, const SharedMemoryOptions& options = {});

}  // namespace lockstep::comm

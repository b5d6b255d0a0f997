#pragma once
/// @file
/// Memory that all ranks of a group have mapped: one anonymous file (memfd), so that nothing is named and nothing is
/// left behind, whatever ends the processes.
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

/// What a test may inject.
struct SharedMemoryOptions {
  /// Instead of the kernel's boot id: ranks share memory where it is equal on all. Empty: this rank cannot.
  std::optional<std::string> host_id;
};

/// When a region gets its memory.
enum class Reserve {
  kNow,    ///< All of it, so that no access can fail.
  kOnUse,  ///< Each part by a reserve() before it is first used, for a region most of which never is.
};

/// A part of the shared file, mapped into this process as long as its SharedMemory lives; zeros at first.
struct SharedRegion {
  std::byte* data = nullptr;  ///< Where this process has it; other ranks have it elsewhere.
  std::size_t bytes = 0;      ///< As asked for, rounded up to whole pages.
  std::uint64_t offset = 0;   ///< In the file: what ranks tell each other in place of addresses.
};

struct SharedMemoryResult;

/// The shared file of one group, and the waits on it.
///
/// Collective calls (grow, all_gather) are made by all ranks in the same order, from one thread at a time. at(),
/// interrupt() and is_interrupted(): any thread.
class SharedMemory {
 public:
  /// What a rank tells all others in all_gather(); the meaning is the caller's.
  struct Note {
    std::uint64_t bytes = 0;  ///< A size or an offset.
    std::int64_t number = 0;  ///< An errno, an index.
  };

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// This rank in the group.
  [[nodiscard]] int rank() const noexcept { return context_.rank; }
  /// Ranks in the group; all have the memory mapped.
  [[nodiscard]] int world_size() const noexcept { return context_.world_size; }

  /// Makes the file longer by `bytes` (at least 1) on all ranks. Regions of 2 MiB and more ask the kernel for huge
  /// pages.
  /// @throws IoError        There is not that much memory (on all ranks: rank 0 reserves it, so that no access fails
  ///                        later); or a rank cannot map it; names the rank.
  /// @throws MismatchError  Ranks ask for different sizes.
  /// @throws TimeoutError   Names a rank that did not call. @throws PeerFailedError  A rank died.
  /// @cost  Touches every page once.
  [[nodiscard]] SharedRegion grow(std::size_t bytes, const Deadline& deadline, Reserve reserve = Reserve::kNow);

  /// Gives `bytes` bytes at `data`, which are in a region of Reserve::kOnUse, memory where they have none yet. Every
  /// rank that is to use them calls it before, in any order.
  /// @throws IoError  There is not that much memory. @cost  A system call.
  void reserve(const std::byte* data, std::size_t bytes) const;

  /// Memory that the whole file has, in bytes.
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept;

  /// Every rank's note, by rank. Memory written before it is visible to all after it. @throws  As grow().
  /// @param what  For messages: "growing shared memory".
  [[nodiscard]] std::vector<Note> all_gather(const Note& own, std::string_view what, const Deadline& deadline);

  /// @throws MismatchError  The notes differ in `bytes`; names two ranks and their amounts.
  void check_same_bytes(const std::vector<Note>& notes) const;

  /// Where this process has the `bytes` bytes at `offset` of the file.
  /// @throws FormatError  They are not inside one mapped region.
  [[nodiscard]] std::byte* at(std::uint64_t offset, std::size_t bytes) const;
  /// "rank 3", by its number in the job: for messages.
  [[nodiscard]] std::string name_of(int peer) const;

  /// Tells the others that this rank is done with the group: whoever waits for it sees that within Waiter::kSlice. What
  /// it has written before counts.
  void leave() noexcept;
  /// Whether `peer` has called leave().
  [[nodiscard]] bool has_left(int peer) const noexcept;

  /// Waits for something that `peer` does. @return  False where `deadline` passed first.
  /// @param ready  As Waiter::wait()'s.
  /// @throws LinkError  The peer has left without doing it. @throws  What the waiter's check throws.
  template <typename Ready>
  [[nodiscard]] bool wait_for(int peer, Waiter& waiter, const Ready& ready, const Deadline& deadline) const {
    if (ready()) return true;
    if (!waiter.wait([&] { return ready() || has_left(peer); }, deadline)) return false;
    if (!ready()) throw_left(peer);  // whatever it did, it did before it left
    return true;
  }
  /// @throws PeerFailedError, MismatchError  The job has failed. @throws LinkError  Else; names the peer.
  [[noreturn]] void throw_left(int peer) const;

  /// Waits of this rank at `own`, which fail when the job does or interrupt() is called. The waiter must not outlive
  /// this object.
  [[nodiscard]] Waiter make_waiter(Doorbell& own);

  /// Makes running waits, and all later ones, fail with IoError, at the latest after Waiter::kSlice.
  void interrupt() noexcept { is_interrupted_ = true; }
  /// @throws IoError  interrupt() was called. @cost  One read of memory: for the start of every call.
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
  std::vector<SharedRegion> regions_;  // by offset, which is also the order of their making
};

/// What make_shared_memory() found.
struct SharedMemoryResult {
  std::shared_ptr<SharedMemory> memory;  ///< Null where any rank cannot share memory with the others.
  std::string reason;                    ///< Then: why, the same on all ranks.
};

/// Gives the ranks of a group common memory where they run on one host: equal boot id, and rank 0's descriptor reached
/// all of them through an authenticated local socket (in containers one of the two can fail). All ranks get the same
/// answer. Collective.
///
/// @param group  Name of the group, unique in the job and generation: concat("ring/", group_id()).
/// @throws TimeoutError  Names ranks that do not answer by `deadline`. @throws PeerFailedError  A rank died; names it.
[[nodiscard]] SharedMemoryResult make_shared_memory(const JobContext& context, std::string_view group,
                                                    const Deadline& deadline, const SharedMemoryOptions& options = {});

}  // namespace lockstep::comm

#pragma once
/// @file
/// The first all-reduce as a process group: rank 0 is the centre of a star, and everything passes through it.
#include <cstdint>
#include <memory>
#include <span>

#include "comm/host/host_process_group.hpp"

namespace lockstep::star {

/// How a star moves buffers; the defaults are right.
struct StarOptions {
  /// Buffers travel in segments of this many bytes, so that the centre needs room for one segment, not for a whole
  /// buffer. Must be equal on all ranks.
  std::int64_t segment_bytes = 256 * 1024;
};

/// Rank 0 receives the values of every other rank, reduces them in the order of the ranks, and sends the result back.
/// In a collective with a root, the root is the centre. The centre moves P-1 times as many bytes as any other rank;
/// chapter 02 fixes this.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost  all_reduce: the buffer once up and once down per rank; (P-1) times each way through rank 0. all_gather and
///        reduce_scatter: the same, with the longer of their two buffers.
class StarProcessGroup final : public comm::HostProcessGroup {
 public:
  /// Connects to rank 0; rank 0 waits for all others.
  /// @throws TimeoutError, PeerFailedError  A rank does not join within context.limits.join; names it.
  explicit StarProcessGroup(comm::JobContext context, const StarOptions& options = {});
  ~StarProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "star"; }

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_reduce(const Call& call) override;
  void run_all_gather(const Call& call) override;
  void run_reduce_scatter(const Call& call) override;
  void run_barrier(const Call& call) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;

  /// Reduces the `values` of all ranks at the centre; elsewhere they stay unchanged.
  void reduce_to(int centre, const Call& call, std::span<std::byte> values);
  /// Copies the centre's `values` to every rank.
  void send_from(int centre, const Call& call, std::span<std::byte> values);

  StarOptions options_;
};

/// @throws  As StarProcessGroup's constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_star_process_group(comm::JobContext context,
                                                                          const StarOptions& options = {});

}  // namespace lockstep::star

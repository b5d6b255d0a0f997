#pragma once
/// @file
/// The collectives for exercises on training: a few, named as in comm::ProcessGroup.
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "exercise/link.hpp"

namespace lockstep::exercise {

/// A collective that has been issued. Copyable; an empty one is done.
class Work {
 public:
  Work() = default;
  /// @param wait  Returns when the collective is done; called at most once, with the caller's line.
  explicit Work(std::function<void(const std::source_location&)> wait);

  /// Returns when the collective is done; at once if it already is.
  /// @throws MismatchError  Ranks have issued different collectives. @throws IoError  A rank has returned or died.
  void synchronize(const std::source_location& where = std::source_location::current());

 private:
  std::shared_ptr<std::function<void(const std::source_location&)>> wait_;
};

/// A fixed group of ranks. All ranks issue the same collectives in the same order, by which they are matched; names and
/// addresses do not matter. Thread safety: one thread.
class Collectives {
 public:
  Collectives() = default;
  virtual ~Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// In [0, world_size()).
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int world_size() const noexcept = 0;

  /// Issues a sum over all ranks, element by element, and returns at once. The values are read by this call;
  /// synchronize() overwrites them with the sum, discarding anything written in between.
  /// @param values  [count], the same count on all ranks, in place. Must stay alive until synchronize().
  /// @post  The same bits on all ranks.
  [[nodiscard]] virtual Work all_reduce(std::span<float> values) = 0;

  /// Issues a copy of the root's values to all other ranks, and returns at once. Otherwise like all_reduce().
  /// @param root  Rank whose values are sent, the same on all ranks.
  [[nodiscard]] virtual Work broadcast(std::span<float> values, int root) = 0;

  /// Gathers one row per rank, and returns when that is done.
  /// @param row  The same count on all ranks.
  /// @return  On every rank: the rows in rank order; rank r's begins at r * row.size().
  /// @throws MismatchError, IoError  See Work::synchronize().
  [[nodiscard]] virtual std::vector<std::int64_t> gather_rows(
      std::span<const std::int64_t> row, const std::source_location& where = std::source_location::current()) = 0;
};

/// How a reduction combines the values of all ranks. `kMean` is `kSum`, then one division by world_size().
enum class ReduceOp : std::int64_t { kSum, kMean };

/// Collectives with the two halves of an all-reduce, for exercises on sharding. *Part* r of a buffer of `count`
/// elements, which the world size divides, is the r-th of world_size() equal parts.
class ShardCollectives : public Collectives {
 public:
  using Collectives::all_reduce;

  /// Issues a reduction over all ranks, of which every rank gets its part, and returns at once. `all` is read by this
  /// call; synchronize() overwrites `own` with the result.
  /// @param own  [count / world_size]: may be this rank's part of `all`. Must stay alive until synchronize().
  /// @param all  [count], the same count on all ranks. @throws ContractError  The counts do not fit.
  [[nodiscard]] virtual Work reduce_scatter(std::span<float> own, std::span<const float> all, ReduceOp op) = 0;

  /// Issues an exchange of parts, after which every rank has all of them, and returns at once. `own` is read by this
  /// call; synchronize() overwrites `all` with the parts of all ranks.
  /// @param all  [count]: must stay alive until synchronize(). @param own  [count / world_size]: may be this rank's
  ///             part of `all`. @throws ContractError  The counts do not fit.
  [[nodiscard]] virtual Work all_gather(std::span<float> all, std::span<const float> own) = 0;

  /// As the all_reduce() of floats.
  [[nodiscard]] virtual Work all_reduce(std::span<double> values) = 0;
};

/// An event on one rank: it issued a collective or began to wait for one.
struct CollectiveEvent {
  enum class Kind : std::uint8_t { kIssued, kSynchronized };
  Kind kind;
  std::string operation;  ///< As the function's name: "all_reduce".
  std::int64_t count;     ///< Elements; of a collective with parts, those of all of them.
};

/// Collectives through rank 0, which receives, adds in rank order, and sends back. Data moves only when a rank waits;
/// that completes all earlier collectives too, in the order of issue.
class LinkCollectives final : public ShardCollectives {
 public:
  /// @param link  Returns the link to another rank, which must have no other use.
  /// @param progress  This rank's entry on the board; may be null.
  LinkCollectives(int rank, int world_size, std::function<Link&(int peer)> link, RankProgress* progress);
  ~LinkCollectives() override;

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int world_size() const noexcept override { return world_size_; }
  [[nodiscard]] Work all_reduce(std::span<float> values) override;
  [[nodiscard]] Work all_reduce(std::span<double> values) override;
  [[nodiscard]] Work reduce_scatter(std::span<float> own, std::span<const float> all, ReduceOp op) override;
  [[nodiscard]] Work all_gather(std::span<float> all, std::span<const float> own) override;
  [[nodiscard]] Work broadcast(std::span<float> values, int root) override;
  [[nodiscard]] std::vector<std::int64_t> gather_rows(
      std::span<const std::int64_t> row, const std::source_location& where = std::source_location::current()) override;

  /// All events so far.
  [[nodiscard]] const std::vector<CollectiveEvent>& events() const noexcept { return events_; }
  /// The element counts of all collectives named `operation`, in the order of issue.
  [[nodiscard]] std::vector<std::int64_t> issued(const std::string& operation) const;

 private:
  struct Issued;

  Work issue(Issued issued);
  void require_parts(const char* operation, std::size_t own, std::size_t all) const;
  void complete(std::size_t number, const std::source_location& where);
  void run(Issued& issued, std::size_t number, const std::source_location& where);
  void require_agreement(const Issued& issued, std::size_t number);
  void move(Issued& issued, ProgressEntry& entry);
  void send(int peer, std::span<const std::byte> bytes);
  void receive(int peer, std::span<std::byte> bytes);

  int rank_, world_size_;
  std::function<Link&(int peer)> link_;
  RankProgress* progress_;
  std::vector<Issued> issued_;
  std::size_t completed_ = 0;  // of issued_
  std::vector<CollectiveEvent> events_;
};

}  // namespace lockstep::exercise

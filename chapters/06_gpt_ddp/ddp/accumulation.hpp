#pragma once
/// @file
/// A step in several micro-batches: gradients add up on each rank, and only the last backward averages.
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

namespace lockstep::ddp {

/// Whether a backward pass averages, or is one of several whose gradients only add up on this rank.
class SyncGate {
 public:
  /// The gate is closed while an object of this class exists.
  class Closed {
   public:
    /// @param gate  Must outlive this object.
    explicit Closed(SyncGate& gate) noexcept : gate_(gate) { ++gate_.closed_; }
    ~Closed() { --gate_.closed_; }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    SyncGate& gate_;
  };

  /// Whether the next backward averages.
  [[nodiscard]] bool is_open() const noexcept { return closed_ == 0 && !is_last_part_to_come_; }
  /// Says that the next backward is not the last of its step.
  void set_last_part_to_come(bool is_to_come) noexcept { is_last_part_to_come_ = is_to_come; }

 private:
  int closed_ = 0;
  bool is_last_part_to_come_ = false;
};

/// The range of StepProtocol::accumulate().
template <typename Part>
class Accumulation {
 public:
  /// @param gate, parts  Must outlive this object. @param begin_step  Called before the first micro-batch.
  Accumulation(SyncGate& gate, std::span<const Part> parts, std::function<void()> begin_step)
      : gate_(gate), parts_(parts), begin_step_(std::move(begin_step)) {}
  ~Accumulation() { gate_.set_last_part_to_come(false); }
  Accumulation(const Accumulation&) = delete;
  Accumulation& operator=(const Accumulation&) = delete;

  /// Single-pass.
  class Iterator {
   public:
    [[nodiscard]] const Part& operator*() const noexcept { return loop_->parts_[index_]; }
    /// Goes to the next micro-batch; the last one's backward() averages.
    Iterator& operator++() {
      loop_->enter(++index_);
      return *this;
    }
    /// True past the end.
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return index_ == loop_->parts_.size(); }

   private:
    friend class Accumulation;
    explicit Iterator(Accumulation& loop) noexcept : loop_(&loop) {}
    Accumulation* loop_;
    std::size_t index_ = 0;
  };

  /// Begins the step. @throws  As backward(), if this rank has no data.
  [[nodiscard]] Iterator begin() {
    begin_step_();
    enter(0);
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void enter(std::size_t index) noexcept { gate_.set_last_part_to_come(index + 1 < parts_.size()); }

  SyncGate& gate_;
  std::span<const Part> parts_;
  std::function<void()> begin_step_;
};

}  // namespace lockstep::ddp

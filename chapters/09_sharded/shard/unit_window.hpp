#pragma once
/// @file
/// Stage 3 of ZeRO: units that are whole only while they are needed.
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "09_sharded/shard/fetch_order.hpp"
#include "09_sharded/shard/pass_guide.hpp"
#include "09_sharded/shard/unit.hpp"
#include "autograd/variable.hpp"
#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::sharded {

/// The purpose of a pass through the model. Each kind but the last has its own record of the order.
enum class Pass { kTraining, kEvaluation, kOther };

/// Keeps at most three units whole: when an operation asks for a value of a released unit, all ranks gather the unit,
/// the last but one goes, and the one that followed it in the last pass is gathered in advance. Backward asks again for
/// what forward has used, and so does a block that is computed again.
///
/// Collective: all ranks go through the same operations in the same order; the units' tags say if they do not.
/// Units that are always whole are not its business.
class UnitWindow final : private autograd::ValueSource {
 public:
  /// @param units, parameters, group  Must outlive this object. Values that go have been released already.
  /// @param prefetches  Whether to gather the next unit in advance.
  UnitWindow(std::span<Unit> units, std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group,
             bool prefetches);
  /// Releases all units; asking for a value is an error from then on.
  ~UnitWindow() override;
  UnitWindow(const UnitWindow&) = delete;
  UnitWindow& operator=(const UnitWindow&) = delete;

  /// From here on values may be asked for, on all ranks alike. Every unit is released first, so that all ranks begin
  /// with the same ones. Collective only in what it makes possible.
  void begin_pass(Pass pass);
  /// Releases all units, whose own parts may change now. Asking for a value is an error until the next pass.
  void end_pass();

  /// Whether there has been a pass of the current one's kind, which tells what this one will do.
  [[nodiscard]] bool knows_pass() const noexcept { return order_ != nullptr && !order_->events().empty(); }
  /// Call after begin_pass(), on all ranks, if some have no data in a pass that is not known: those with data tell the
  /// others what they do, up to end_guidance(). @param has_data  On this rank.
  void guide_pass(bool has_data) { guide_.emplace(group_, has_data); }
  /// Call after the last operation of a pass; does nothing if the pass is not guided.
  void end_guidance();

  /// Notes that the gradients of `unit` leave in this pass. Call before they do.
  void note_reduction(std::size_t unit);
  /// Issues the collectives of the last pass of this kind, for a rank that has no data in this one; or, if the pass is
  /// guided, those of the ranks with data.
  /// @param reduce  Must issue the reduction of a unit's gradients.
  /// @throws ContractError  There is no last pass; the other ranks are told.
  void replay(const std::function<void(std::size_t unit)>& reduce);

  /// How long operations have waited for units since the last call.
  [[nodiscard]] std::chrono::nanoseconds take_waited() noexcept { return std::exchange(waited_, {}); }
  /// How many units were whole at once at the most, with one on its way.
  [[nodiscard]] std::size_t most_alive() const noexcept { return most_alive_; }

 private:
  /// A unit that is being gathered.
  struct Coming {
    std::size_t unit;
    Tensor values;
    comm::Work work;
  };

  void fetch(autograd::Variable& parameter) override;
  void use(std::size_t unit);
  void announce(FetchOrder::Event event);
  [[nodiscard]] Coming gather(std::size_t unit);
  void adopt(Coming gathered);
  void release_oldest();
  void release_all();
  [[nodiscard]] bool is_alive(std::size_t unit) const;

  std::span<Unit> units_;
  std::span<const nn::NamedParameter> parameters_;
  comm::ProcessGroup& group_;
  bool prefetches_;
  std::unordered_map<const autograd::Variable::Node*, std::size_t> unit_of_;
  std::array<FetchOrder, 2> orders_;  // by Pass
  FetchOrder* order_ = nullptr;       // of the current pass; null: it has none
  bool is_open_ = false;              // in a pass
  std::optional<PassGuide> guide_;    // of the current pass, if it is guided
  std::deque<std::size_t> alive_;     // the oldest first
  std::optional<Coming> coming_;
  std::size_t most_alive_ = 0;
  std::chrono::nanoseconds waited_{0};
};

}  // namespace lockstep::sharded

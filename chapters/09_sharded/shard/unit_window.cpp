#include "09_sharded/shard/unit_window.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "device/memory_limit.hpp"

namespace lockstep::sharded {

constexpr std::size_t kKept = 2;  // units that stay whole: an operation may need two, such as both embeddings

UnitWindow::UnitWindow(std::span<Unit> units, std::span<const nn::NamedParameter> parameters, comm::ProcessGroup& group,
                       bool prefetches)
    : units_(units), parameters_(parameters), group_(group), prefetches_(prefetches) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].is_always_whole) continue;
    for (const std::size_t i : units_[u].parameters) {
      unit_of_.emplace(parameters_[i].parameter.node().get(), u);
      parameters_[i].parameter.set_value_source(this);
    }
  }
}

UnitWindow::~UnitWindow() {
  try {
    release_all();
  } catch (const std::exception&) {  // the group has failed, and says so to its next caller
  }
  for (const Unit& unit : units_) {
    for (const std::size_t i : unit.parameters) parameters_[i].parameter.set_value_source(nullptr);
  }
}

void UnitWindow::begin_pass(Pass pass) {
  guide_.reset();
  release_all();
  order_ = pass == Pass::kOther ? nullptr : &orders_.at(static_cast<std::size_t>(pass));
  if (order_ != nullptr) order_->begin_pass();
  is_open_ = true;
}

void UnitWindow::end_pass() {
  release_all();
  is_open_ = false;
}

void UnitWindow::fetch(autograd::Variable& parameter) {
  const std::size_t unit = unit_of_.at(parameter.node().get());
  require(is_open_, "rank ", number_in_job(group_), ": sharded: the value of ", parameter.name(),
          " is asked for outside a step, and no rank has all of ", units_[unit].tag,
          ": take part on all ranks in accumulate() or in_step(), or read this rank's part in shards()");
  announce({unit, false});
  use(unit);
}

void UnitWindow::use(std::size_t unit) {
  const std::size_t next = order_ != nullptr ? order_->note_fetch(unit).value_or(unit) : unit;  // unit: not known
  std::optional<Coming> expected = std::exchange(coming_, {});
  if (expected && expected->unit != unit) {  // the pass has gone another way, on all ranks
    expected->work.synchronize();
    expected.reset();
  }
  if (!expected) {
    while (alive_.size() >= kKept) release_oldest();
    expected = gather(unit);
  }
  adopt(*std::move(expected));
  while (alive_.size() > kKept) release_oldest();
  if (prefetches_ && !is_alive(next)) coming_ = gather(next);
}

UnitWindow::Coming UnitWindow::gather(std::size_t index) {
  const Unit& unit = units_[index];
  const AllocationPurpose purpose("values of ", unit.tag);
  const Tensor values = Tensor::empty({unit.layout.count()}, DType::kFloat32, unit.own_values.device());
  most_alive_ = std::max(most_alive_, alive_.size() + 1);
  return {index, values,
          group_.all_gather(comm::buffer_of(values), comm::buffer_of(unit.own_values), {.tag = unit.tag})};
}

void UnitWindow::adopt(Coming gathered) {
  const auto begin = std::chrono::steady_clock::now();
  gathered.work.synchronize();
  waited_ += std::chrono::steady_clock::now() - begin;
  Unit& unit = units_[gathered.unit];
  unit.values = std::move(gathered.values);
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const autograd::Variable& parameter = parameters_[unit.parameters[k]].parameter;
    parameter.adopt_value(unit.view(unit.values, k, parameter.shape()));
  }
  alive_.push_back(gathered.unit);
}

// Operations that still compute with the values hold them until they are done.
void UnitWindow::release_oldest() {
  Unit& unit = units_[alive_.front()];
  alive_.pop_front();
  for (const std::size_t i : unit.parameters) (void)parameters_[i].parameter.release_value();
  unit.values = Tensor();
}

void UnitWindow::release_all() {
  while (!alive_.empty()) release_oldest();
  if (coming_) std::exchange(coming_, {})->work.synchronize();
}

bool UnitWindow::is_alive(std::size_t unit) const { return std::ranges::find(alive_, unit) != alive_.end(); }

void UnitWindow::end_guidance() {
  if (guide_ && guide_->has_data()) guide_->announce_end();
  guide_.reset();
}

void UnitWindow::announce(FetchOrder::Event event) {
  if (guide_ && guide_->has_data()) guide_->announce(event);
}

void UnitWindow::note_reduction(std::size_t unit) {
  announce({unit, true});
  if (order_ != nullptr) order_->note_reduction(unit);
}

void UnitWindow::replay(const std::function<void(std::size_t)>& reduce) {
  const auto repeat = [&](FetchOrder::Event event) { event.is_reduction ? reduce(event.unit) : use(event.unit); };
  if (guide_ && !guide_->has_data()) {
    while (const std::optional<FetchOrder::Event> event = guide_->follow()) repeat(*event);
    return guide_.reset();
  }
  const std::vector<FetchOrder::Event> events(order_->events().begin(), order_->events().end());
  if (events.empty()) {
    const std::string message =
        concat("rank ", number_in_job(group_),
               " has no data in the first pass through the model, so it does not know which units the ",
               "others gather, and in which order: loop over join(loader), which tells it, or give every rank at ",
               "least one batch");
    group_.abort(message);
    throw ContractError(message);
  }
  for (const FetchOrder::Event& event : events) repeat(event);
}

}  // namespace lockstep::sharded

#include "09_sharded/sharded_data_parallel.hpp"

#include <cmath>
#include <exception>
#include <map>
#include <utility>

#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "optim/clip.hpp"

namespace lockstep::sharded {
namespace {

// All ranks agree on names, shapes and dtypes before the first element moves. Frozen parameters stay whole.
std::vector<nn::NamedParameter> checked_parameters(const nn::Module& module, comm::ProcessGroup& group) {
  std::vector<nn::NamedParameter> parameters = nn::trained_parameters(module);
  require(!parameters.empty(), "sharded: the module has no parameters to train");
  require(module.named_buffers().empty(),
          "sharded: the module has buffers, which nothing would keep equal on all ranks");
  for (const nn::NamedParameter& named : parameters) {
    require(named.parameter.observers().empty(), "sharded: parameter ", named.name,
            " is watched already: a module can be wrapped once");
  }
  ddp::require_equal_layout(module, group);
  for (const nn::NamedParameter& named : module.named_parameters()) {
    if (named.parameter.requires_grad()) continue;  // in a unit
    group.broadcast(comm::buffer_of(named.parameter.value()), 0).synchronize();
  }
  return parameters;
}

const ShardOptions& checked(const ShardOptions& options) {
  require(options.stage >= 1 && options.stage <= 3, "sharded: there is no stage ", options.stage,
          " of ZeRO: 1, 2 or 3");
  return options;
}

std::vector<std::vector<std::size_t>> parameters_of(std::span<const Unit> units) {
  std::vector<std::vector<std::size_t>> parameters;
  for (const Unit& unit : units) parameters.push_back(unit.parameters);
  return parameters;
}

}  // namespace

autograd::Variable ShardedDataParallel::Shards::add(const nn::NamedParameter& whole, const Tensor& own_elements,
                                                    Range range) {
  const Slice slice = whole.slice.part(range);
  const nn::Owner owner = whole.is_owned ? nn::Owner::kThisRank : nn::Owner::kAnotherRank;
  return register_part(whole.name, own_elements.reshape(slice.shape()), slice, owner);
}

ShardedDataParallel::ShardedDataParallel(nn::Module& module, comm::ProcessGroup& group, const ShardOptions& options)
    : StepProtocol(group),
      module_(module),
      group_(group),
      options_(checked(options)),
      parameters_(checked_parameters(module, group)),
      units_(make_units(parameters_, group, options.stage)),
      places_(parameters_.size()),
      reducer_(parameters_of(units_), *this),
      reductions_(units_.size()) {
  if (options_.stage >= 2) slots_.emplace(units_, group_, parameters_.front().parameter.device());
  for (const nn::NamedParameter& named : parameters_) index_of_.emplace(named.parameter.node().get(), index_of_.size());
  for (std::size_t u = 0; u < units_.size(); ++u) {
    for (std::size_t k = 0; k < units_[u].parameters.size(); ++k) places_[units_[u].parameters[k]] = {u, k, {}};
  }
  // The shards keep the parameters' order, so that optimizers and norms meet them as they would meet the parameters.
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Unit& unit = units_[places_[i].unit];
    const std::size_t k = places_[i].index;
    const Range own = unit.layout.own_elements(k, group_.rank());
    places_[i].shard = shards_.add(parameters_[i], unit.shard(unit.own_values, k, group_.rank()), own);
  }
  // Last, because nothing can fail after it: no destructor runs if a constructor throws.
  if (options_.stage == 3) window_.emplace(units_, parameters_, group_, options_.prefetch);
  for (const nn::NamedParameter& named : parameters_) named.parameter.add_observer(this);
}

ShardedDataParallel::~ShardedDataParallel() {
  for (const nn::NamedParameter& named : parameters_) named.parameter.remove_observer(this);
}

ShardedDataParallel::InStep::~InStep() {
  try {
    if (window_ != nullptr) window_->end_pass();
  } catch (const std::exception&) {  // the group has failed, and says so to its next caller
  }
}

void ShardedDataParallel::begin_step(std::optional<std::int64_t> /*step*/) {
  if (!window_) return;
  window_->begin_pass(Pass::kTraining);
  const bool some_cannot_know = !window_->knows_pass() && targets().ranks_without_samples() > 0;
  if (some_cannot_know) window_->guide_pass(targets().has_samples());
}

// The first half of an all-reduce, for each unit as soon as backward has completed it ...

// In stage 1 gradients have a place of their own, in which micro-batches add up.
Tensor ShardedDataParallel::place_gradient(autograd::Variable& parameter) {
  if (options_.stage == 1) return {};
  const Place& place = places_[index_of_.at(parameter.node().get())];
  Unit& unit = units_[place.unit];
  if (!unit.gradients.is_defined()) unit.gradients = take_slot(unit.layout.count());
  return unit.view(unit.gradients, place.index, parameter.shape());
}

// Of two units that share a slot, the first has been sent long before the third begins.
Tensor ShardedDataParallel::take_slot(std::int64_t count) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (Tensor slot = slots_->take(count); slot.is_defined()) return slot;
    if (reductions_[u] && units_[u].layout.count() == count) wait(u);
  }
  const Tensor slot = slots_->take(count);  // none if backward has gone back and forth between units
  return slot.is_defined() ? slot : Tensor::zeros({count}, DType::kFloat32, parameters_.front().parameter.device());
}

// Without this, the optimizer would find no gradient and update nothing, in silence.
Tensor ShardedDataParallel::veto() const {
  throw ContractError(concat("rank ", number_in_job(group_), ": sharded: the optimizer was made over the model, whose ",
                             "gradients end in the ranks' shards (", parameters_.front().name, " in those of ",
                             units_[places_.front().unit].tag, "): make it over sharded.shards(), after the model has ",
                             "been wrapped"));
}

void ShardedDataParallel::on_gradient_ready(autograd::Variable& parameter) {
  if (options_.stage > 1 || is_last_part()) reducer_.on_gradient_ready(index_of_.at(parameter.node().get()));
}

// A further micro-batch of a step is added to the means that are there.
Tensor ShardedDataParallel::place_for_means(const Unit& unit) const {
  const bool is_further = options_.stage > 1 && places_[unit.parameters.front()].shard.has_gradient();
  if (!is_further) return unit.own_gradients;
  return Tensor::empty(unit.own_gradients.shape(), DType::kFloat32, unit.own_gradients.device());
}

void ShardedDataParallel::launch(std::size_t index) {
  const Unit& unit = weighed_unit(index);
  if (window_) window_->note_reduction(index);
  Reduction& reduction = reductions_[index].emplace(Reduction{place_for_means(unit)});
  reduction.work = group_.reduce_scatter(comm::buffer_of(reduction.means), comm::buffer_of(unit.gradients),
                                         comm::ReduceOp::kMean, {.tag = unit.tag});
}

void ShardedDataParallel::wait(std::size_t index) {
  if (!reductions_[index]) return;  // its slot was needed earlier
  const auto begin = std::chrono::steady_clock::now();
  Reduction reduction = *std::exchange(reductions_[index], {});
  reduction.work.synchronize();
  add_waited(std::chrono::steady_clock::now() - begin);
  Unit& unit = units_[index];
  if (reduction.means.const_data() != unit.own_gradients.const_data())
    kernels::add_scaled(unit.own_gradients, 1.0, reduction.means);
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const autograd::Variable& shard = places_[unit.parameters[k]].shard;
    shard.adopt_gradient(unit.shard(unit.own_gradients, k, group_.rank()).reshape(shard.shape()));
    // The reduced gradients are used up; from stage 2 on they go.
    const autograd::Variable& whole = parameters_[unit.parameters[k]].parameter;
    options_.stage == 1 ? whole.zero_grad() : void(whole.release_gradient());
  }
  if (options_.stage > 1) slots_->give_back(std::exchange(unit.gradients, {}));
}

void ShardedDataParallel::on_backward_end() {
  if (options_.stage > 1 || is_last_part()) finish_backward();
}

void ShardedDataParallel::finish_backward() {
  reducer_.on_backward_end();
  if (window_) add_waited(window_->take_waited());
  if (!is_last_part()) return;
  if (window_) window_->end_guidance();
  exposed_ = std::exchange(waited_, {});
}

// ... and the second half, for the values that an optimizer has made of the gradients.
void ShardedDataParallel::gather_values() {
  if (window_) window_->end_pass();
  std::vector<comm::Work> works;
  for (const Unit& unit : units_) {
    if (!unit.is_always_whole) continue;  // gathered when it is needed
    works.push_back(
        group_.all_gather(comm::buffer_of(unit.values), comm::buffer_of(unit.own_values), {.tag = unit.tag}));
  }
  for (comm::Work& work : works) work.synchronize();
}

// The norm is clipped in float64, as one process does it.
double ShardedDataParallel::clip_grad_norm(double max_norm) {
  const std::vector<autograd::Variable> shards = shards_.parameters();
  double squares = optim::squared_norm(shards);
  group_.all_reduce(comm::host_buffer(std::span(&squares, 1))).synchronize();
  const double norm = std::sqrt(squares);
  optim::clip_to(shards, norm, max_norm);
  return static_cast<float>(norm);
}

void ShardedDataParallel::contribute_nothing() {
  const auto reduce_zeros = [this](std::size_t unit) {
    for (const std::size_t i : units_[unit].parameters) {
      parameters_[i].parameter.begin_gradient_write().first.fill_zero();
      reducer_.on_gradient_ready(i);
    }
  };
  if (window_) {
    window_->replay(reduce_zeros);
  } else {
    for (std::size_t u = 0; u < units_.size(); ++u) reduce_zeros(u);
  }
  finish_backward();
}

// Other ranks have begun to wait for the unit, so they are told if a gradient is missing.
const Unit& ShardedDataParallel::weighed_unit(std::size_t index) {
  const Unit& unit = units_[index];
  for (const std::size_t i : unit.parameters) {
    if (parameters_[i].parameter.has_gradient()) continue;
    const std::string message =
        concat("rank ", number_in_job(group_), ": parameter ", parameters_[i].name, " of ", unit.tag,
               " has no gradient in this step: the loss must depend on every parameter that is ",
               "trained; freeze it with set_requires_grad(false) before the module is wrapped");
    group_.abort(message);
    throw ContractError(message);
  }
  if (const double weight = targets().weight(); weight != 1) kernels::scale(unit.gradients, weight);
  return unit;
}

}  // namespace lockstep::sharded

#include "run/training_loop.hpp"

#include "base/error.hpp"

namespace lockstep::run {
namespace {

BatchOf batch_of(const data::DataLoader& loader, const Run& run) {
  const std::int64_t whole = run.options().batch_size, own = loader.options().batch_size;
  if (own == whole) return BatchOf::kAllRanks;
  require(own * run.ranks().data_ranks() == whole, "the loader's batches have ", own,
          " samples; the loop takes batches of ", whole, ", from which each of ", run.ranks().data_ranks(),
          " ranks takes its part, or of that part");
  return BatchOf::kThisRank;
}

}  // namespace

TrainingLoop::TrainingLoop(Run& run, nn::Module& model, optim::Optimizer& optimizer, data::DataLoader& loader)
    : run_(run),
      model_(model),
      optimizer_(optimizer),
      loader_(loader),
      batch_of_(batch_of(loader, run)),
      schedule_(run.options().schedule(run.last_step())) {
  run_.resume(model_, optimizer_, loader_.sampler());
}

TrainingLoop::Iterator TrainingLoop::begin() {
  begun_ = run_.step();
  begin_step();
  return Iterator(*this);
}

void TrainingLoop::begin_step() {
  if (run_.is_finished()) {
    batch_.reset();
    return;
  }
  if (batch_)
    ++*batch_;
  else
    batch_ = loader_.begin();
  if (*batch_ == loader_.end()) {
    loader_.sampler().set_epoch(loader_.sampler().epoch() + 1);
    batch_ = loader_.begin();
    require(*batch_ != loader_.end(), "an epoch has no batch on rank ", run_.ranks().rank());
  }
  (void)run_.begin_step(**batch_, loader_.time_waited(), batch_of_);
  ++begun_;
}

void TrainingLoop::end_step(double loss, std::optional<double> gradient_norm) {
  run_.require_finite(loss, "loss");
  if (gradient_norm) run_.require_finite(*gradient_norm);
  const double rate = learning_rate();
  run_.end_step(
      {.loss = loss, .gradient_norm = gradient_norm, .learning_rate = rate, .epoch = loader_.sampler().epoch()});
}

void TrainingLoop::conclude_step() {
  require(run_.step() == begun_, "the body of a TrainingLoop calls end_step() once per batch");
  if (evaluate_ && run_.validation_is_due()) run_.set_evaluation(evaluate_());
  run_.print_step();
  if (run_.checkpoint_is_due()) run_.save(model_, optimizer_, loader_.sampler());
}

}  // namespace lockstep::run

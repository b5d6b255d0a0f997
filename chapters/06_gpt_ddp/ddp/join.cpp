#include "06_gpt_ddp/ddp/join.hpp"

#include <utility>

namespace lockstep::ddp {

JoinedBatches::~JoinedBatches() { leave(); }

JoinedBatches::Iterator JoinedBatches::begin() {
  iterator_ = loader_.begin();
  if (!outer_) outer_ = std::exchange(targets_, targets_.fresh());
  begin_step();
  return Iterator(*this);
}

void JoinedBatches::leave() noexcept {
  if (outer_) targets_ = *std::exchange(outer_, std::nullopt);
}

void JoinedBatches::advance() {
  if (has_data()) ++*iterator_;
  begin_step();
}

// A rank with data knows that the sum is not 0 and goes on computing; only a rank without data has to wait for it.
void JoinedBatches::begin_step() {
  if (is_enabled_) targets_.begin_step(current());
  is_over_ = !has_data() && (!is_enabled_ || targets_.samples_of_all_ranks() == 0);
  if (is_over_) leave();
}

}  // namespace lockstep::ddp

#include "00_why_many_gpus/2_link_budget/link_budget.hpp"

namespace lockstep::plan {

LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds) {
  LinkBudget budget;
  // TODO(00.2): convert the label; count steps and their bytes; turn both into seconds
  lockstep::todo("00.2 link_budget");
  return budget;
}

}  // namespace lockstep::plan

#include "09_sharded/4_unit_window/unit_window.hpp"

namespace lockstep::sharded {

void WindowPlan::begin_pass() {
  // TODO(09.4): the next fetch is the first one of the order
  lockstep::todo("09.4 begin_pass");
}

Moves WindowPlan::on_fetch(std::size_t unit) {
  // TODO(09.4): note the unit, then say which units to release and which to prefetch
  lockstep::todo("09.4 on_fetch");
}

std::vector<std::size_t> WindowPlan::end_pass() {
  // TODO(09.4): all units go, and nothing is in use
  lockstep::todo("09.4 end_pass");
}

}  // namespace lockstep::sharded

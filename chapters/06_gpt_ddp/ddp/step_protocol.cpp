#include "06_gpt_ddp/ddp/step_protocol.hpp"

#include "06_gpt_ddp/replica_check.hpp"

namespace lockstep::ddp {

double StepProtocol::average(double value) { return average_over_ranks(group_, value * targets_.weight()); }

}  // namespace lockstep::ddp

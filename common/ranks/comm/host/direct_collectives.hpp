#pragma once
// Collectives in which every byte goes straight from its owner to its reader. Internal to this module.
#include <functional>
#include <span>

#include "comm/host/call_messages.hpp"

namespace lockstep::comm {

// Each blocks until this rank's part is done, except for messages that are still queued; throws as CallMessages.
void gather_directly(CallMessages& messages, const ProcessGroup::Call& call);
void scatter_directly(CallMessages& messages, const ProcessGroup::Call& call);
void all_to_all_directly(CallMessages& messages, const ProcessGroup::Call& call);

}  // namespace lockstep::comm

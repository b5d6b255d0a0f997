#include "comm/host/direct_collectives.hpp"

#include "comm/host/buffer_bytes.hpp"

namespace lockstep::comm {

void gather_directly(CallMessages& messages, const ProcessGroup::Call& call) {
  if (messages.rank() != call.root) return messages.send_segments(call, call.root, bytes_of(call.input));
  copy_bytes(part_of(call.values, messages.rank(), messages.world_size()), bytes_of(call.input));
  for (int peer = 0; peer < messages.world_size(); ++peer) {
    if (peer != messages.rank())
      messages.receive_segments(call, peer, part_of(call.values, peer, messages.world_size()));
  }
}

// The empty message back tells the root that the others agree on the root: otherwise two ranks that both think they are
// the root would both send and leave.
void scatter_directly(CallMessages& messages, const ProcessGroup::Call& call) {
  if (messages.rank() != call.root) {
    messages.receive_segments(call, call.root, bytes_of(call.values));
    return messages.send(call, call.root, {});
  }
  copy_bytes(bytes_of(call.values), part_of(call.input, messages.rank(), messages.world_size()));
  for (int peer = 0; peer < messages.world_size(); ++peer) {
    if (peer != messages.rank()) messages.send_segments(call, peer, part_of(call.input, peer, messages.world_size()));
  }
  for (int peer = 0; peer < messages.world_size(); ++peer) {
    if (peer != messages.rank()) messages.receive(call, peer, {});
  }
}

// In step s, each rank sends to the rank s places ahead and receives from the one s places back, so that no two ranks
// send to the same rank.
void all_to_all_directly(CallMessages& messages, const ProcessGroup::Call& call) {
  copy_bytes(part_of(call.values, messages.rank(), messages.world_size()),
             part_of(call.input, messages.rank(), messages.world_size()));
  for (int step = 1; step < messages.world_size(); ++step) {
    const int to = (messages.rank() + step) % messages.world_size();
    const int from = (messages.rank() - step + messages.world_size()) %
                     messages.world_size();  // + world_size: C++'s % keeps the sign
    messages.send_segments(call, to, part_of(call.input, to, messages.world_size()));
    messages.receive_segments(call, from, part_of(call.values, from, messages.world_size()));
  }
}

}  // namespace lockstep::comm

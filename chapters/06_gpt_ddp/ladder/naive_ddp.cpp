#include "06_gpt_ddp/ladder/naive_ddp.hpp"

#include <vector>

#include "06_gpt_ddp/ddp/bucket_layout.hpp"

namespace lockstep::ddp {

void broadcast_parameters(const nn::Module& module, comm::ProcessGroup& group) {
  std::vector<comm::Work> works;
  for (const nn::NamedParameter& named : module.named_parameters())
    works.push_back(group.broadcast(as_buffer(named.parameter.value()), 0));
  for (comm::Work& work : works) work.synchronize();
}

// Every rank has the same parameters in the same order, so the k-th all-reduce is for the same parameter on all ranks.
void average_gradients(const nn::Module& module, comm::ProcessGroup& group) {
  for (const nn::NamedParameter& named : nn::trained_parameters(module)) {
    if (!named.parameter.has_gradient()) named.parameter.begin_gradient_write().first.fill_zero();
    group.all_reduce(as_buffer(named.parameter.gradient()), comm::ReduceOp::kMean).synchronize();
  }
}

}  // namespace lockstep::ddp

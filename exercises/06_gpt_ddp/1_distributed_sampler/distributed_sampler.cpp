#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"

namespace lockstep::ddp {

std::vector<std::int64_t> indices_of_rank(int rank, const EpochOptions& options) {
  // TODO(06.1): make the epoch's order, pad or cut it, and take every world_size-th sample
  lockstep::todo("06.1 indices_of_rank");
}

}  // namespace lockstep::ddp

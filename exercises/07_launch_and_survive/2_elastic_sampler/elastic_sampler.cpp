#include "07_launch_and_survive/2_elastic_sampler/elastic_sampler.hpp"

namespace lockstep::elastic {

std::int64_t ElasticShard::share_of(std::int64_t batch) const {
  // TODO(07.2): count the positions rank, rank + W, ... below the batch's size
  lockstep::todo("07.2 share_of");
}

std::vector<std::int64_t> ElasticShard::indices() const {
  // TODO(07.2): deal each batch that is left by itself
  lockstep::todo("07.2 indices");
}

void ElasticShard::advance() {
  // TODO(07.2): count the whole batch, and find out whether another one is left
  lockstep::todo("07.2 advance");
}

double ElasticShard::gradient_scale() const {
  // TODO(07.2): weigh this rank by its part of the batch, and undo DDP's division
  lockstep::todo("07.2 gradient_scale");
}

}  // namespace lockstep::elastic

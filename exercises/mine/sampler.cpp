#include "mine/sampler.hpp"

#include <vector>

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"
#include "base/error.hpp"

namespace lockstep::mine {
namespace {

class Sampler final : public data::Sampler {
 public:
  Sampler(std::int64_t dataset_size, int rank, int world_size, std::uint64_t seed)
      : data::Sampler(dataset_size, seed), rank_(rank), world_size_(world_size) {}

  [[nodiscard]] std::int64_t samples_per_epoch() const override { return state().dataset_size / world_size_; }

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override {
    require(first_position % world_size_ == 0, "the sampler of 06.1 cannot go on in the middle of a round of ",
            world_size_, " ranks: position ", first_position, "; resume with as many ranks as before");
    std::vector<std::int64_t> own = ddp::indices_of_rank(rank_, {.sample_count = state().dataset_size,
                                                                 .world_size = world_size_,
                                                                 .seed = state().seed,
                                                                 .epoch = state().epoch,
                                                                 .remainder = ddp::UnevenSamples::kDrop});
    const std::int64_t done = first_position / world_size_;
    own.erase(own.begin(), own.begin() + std::min(done, static_cast<std::int64_t>(own.size())));
    return own;
  }
  [[nodiscard]] int replica_count() const noexcept override { return world_size_; }
  [[nodiscard]] std::int64_t positions_per_epoch() const noexcept override {
    return state().dataset_size / world_size_ * world_size_;
  }

 private:
  int rank_;
  int world_size_;
};

}  // namespace

std::unique_ptr<data::Sampler> make_learners_sampler(std::int64_t dataset_size, int rank, int world_size,
                                                     std::uint64_t seed) {
  return std::make_unique<Sampler>(dataset_size, rank, world_size, seed);
}

}  // namespace lockstep::mine

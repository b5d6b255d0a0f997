#include "08_accelerate/prepared/accelerated_loader.hpp"

#include <utility>

#include "08_accelerate/prepared/gradient_state.hpp"
#include "base/error.hpp"

namespace lockstep::accelerate {
namespace {

data::DataLoaderOptions options_for(const data::DataLoader& original, const ShardOptions& shard) {
  data::DataLoaderOptions options = original.options();
  options.batch_size = shard.batch_size;
  options.drop_last = shard.drop_last;
  return options;
}

}  // namespace

AcceleratedLoader::Parts::Parts(const data::DataLoader& original, const ShardOptions& options,
                                std::shared_ptr<GradientState> shared_, Device device_)
    : shared(std::move(shared_)),
      shard(original.sampler(), options, shared),
      loader(original.dataset(), shard, options_for(original, options)),
      device(device_) {}

trace::ScopedSpan AcceleratedLoader::Parts::waiting() const {
  if (shared->profile != nullptr) shared->profile->enter_step();
  return Profile::span(shared->profile, "next batch", trace::Category::kData);
}

void AcceleratedLoader::Parts::place(const data::DataLoader::Iterator& at) {
  if (device.is_cpu()) return;
  const auto here = [this](const Tensor& tensor) { return tensor.is_defined() ? tensor.to(device) : tensor; };
  placed = {.inputs = here(at->inputs), .targets = here(at->targets), .sample_ids = at->sample_ids};
}

AcceleratedLoader::AcceleratedLoader(const data::DataLoader& original, const ShardOptions& shard,
                                     std::shared_ptr<GradientState> shared, Device device)
    : parts_(std::make_shared<Parts>(original, shard, std::move(shared), device)) {}

void AcceleratedLoader::skip_first(std::int64_t batches) {
  require(batches >= 0 && batches < batches_per_epoch(), "skip_first_batches: ", batches, " of ", batches_per_epoch(),
          " batches leave none");
  data::SamplerState state = sampler().state();
  state.consumed = batches * total_batch_size();
  sampler().load_state(state);
}

}  // namespace lockstep::accelerate

#include "data/token_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace lockstep::data {

namespace {

// One in this many tokens of a random sequence is drawn from all tokens instead of being the successor.
constexpr std::uint32_t kJumpPeriod = 8;

struct TokenBatch {
  Batch batch;
  std::span<std::int32_t> inputs;   // [B * T]
  std::span<std::int32_t> targets;  // [B * T]
};

TokenBatch allocate_batch(std::span<const std::int64_t> indices, std::int64_t context_length) {
  const auto batch_size = static_cast<std::int64_t>(indices.size());
  Batch batch{.inputs = Tensor::empty({batch_size, context_length}, DType::kInt32),
              .targets = Tensor::empty({batch_size, context_length}, DType::kInt32),
              .sample_ids = Tensor::from(indices, {batch_size})};
  return {batch, batch.inputs.span<std::int32_t>(), batch.targets.span<std::int32_t>()};
}

void require_index(std::int64_t index, std::int64_t size) {
  require(index >= 0 && index < size, "sample ", index, " of a dataset of ", size, " samples");
}

}  // namespace

TokenDataset::TokenDataset(Tokens tokens, std::int64_t context_length, Placement placement, std::uint64_t seed)
    : tokens_(std::move(tokens)),
      windows_({.token_count = static_cast<std::int64_t>(tokens_.ids.size()),
                .context_length = context_length,
                .placement = placement,
                .seed = seed},
               tokens_.name) {}

Batch TokenDataset::batch_of_epoch(std::span<const std::int64_t> indices, std::int64_t epoch) const {
  const std::int64_t context_length = windows_.options().context_length;
  TokenBatch out = allocate_batch(indices, context_length);
  auto input = out.inputs.begin(), target = out.targets.begin();
  for (const std::int64_t index : indices) {
    const auto first = tokens_.ids.begin() + windows_.first_token(index, epoch);
    input = std::copy_n(first, context_length, input);
    target = std::copy_n(first + 1, context_length, target);  // + 1: a token's target is the next one
  }
  return out.batch;
}

RandomTokenDataset::RandomTokenDataset(const Options& options) : options_(options) {
  require(options.sample_count >= 1 && options.context_length >= 1 && options.vocabulary_size >= 2,
          "random tokens need at least 1 sample, context length 1 and 2 tokens; got ", options.sample_count, ", ",
          options.context_length, " and ", options.vocabulary_size);
  // Sattolo's shuffle turns the identity into one cycle through all tokens, so no token is its own successor.
  successors_.resize(static_cast<std::size_t>(options.vocabulary_size));
  std::iota(successors_.begin(), successors_.end(), 0);
  PhiloxSequence words(options.seed, 0);
  for (std::size_t i = successors_.size() - 1; i > 0; --i) std::swap(successors_[i], successors_[words.next_below(i)]);
}

Batch RandomTokenDataset::batch(std::span<const std::int64_t> indices) const {
  TokenBatch out = allocate_batch(indices, options_.context_length);
  const auto vocabulary_size = static_cast<std::uint64_t>(options_.vocabulary_size);
  std::size_t position = 0;
  for (const std::int64_t index : indices) {
    require_index(index, size());
    // 1: stream 0 drew the successors
    PhiloxSequence words(options_.seed, 1 + static_cast<std::uint64_t>(options_.first_sample + index));
    auto token = static_cast<std::int32_t>(words.next_below(vocabulary_size));
    for (std::int64_t t = 0; t < options_.context_length; ++t, ++position) {
      out.inputs[position] = token;
      const bool jumps = words.next_word() % kJumpPeriod == 0;
      token = jumps ? static_cast<std::int32_t>(words.next_below(vocabulary_size))
                    : successors_[static_cast<std::size_t>(token)];
      out.targets[position] = token;
    }
  }
  return out.batch;
}

double RandomTokenDataset::lowest_loss() const noexcept {
  const double jump = 1.0 / kJumpPeriod, vocabulary_size = options_.vocabulary_size;
  const double any = jump / vocabulary_size;  // of each token that is not the successor
  const double successor = 1 - jump + any;
  return -successor * std::log(successor) - (vocabulary_size - 1) * any * std::log(any);
}

}  // namespace lockstep::data

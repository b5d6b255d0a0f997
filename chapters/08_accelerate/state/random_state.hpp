#pragma once
/// @file
/// Random numbers of one rank that a checkpoint can keep.
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>

namespace lockstep::accelerate {

/// A separate generator on every rank, for randomness that should differ between ranks (augmentation, sampled
/// negatives). Weights, order and dropout do not use it: their random numbers depend on seed, step and sample, never on
/// the rank. Satisfies std::uniform_random_bit_generator. Thread safety: none.
/// @source Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011: a stream is a key and a counter, so
///         its state is the number of words drawn.
class RandomState {
 public:
  using result_type = std::uint32_t;

  /// @param seed  The job's. @param rank  Streams of different ranks never overlap.
  RandomState(std::uint64_t seed, int rank) noexcept : seed_(seed), rank_(static_cast<std::uint64_t>(rank)) {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }
  /// The next 32 random bits. @cost  Ten rounds of Philox.
  [[nodiscard]] result_type operator()() noexcept;

  /// Restarts with another seed: for a changed number of ranks, when no saved state fits.
  void reseed(std::uint64_t seed) noexcept;

  [[nodiscard]] nlohmann::json state_dict() const;    ///< Seed and words drawn.
  void load_state_dict(const nlohmann::json& state);  ///< @throws FormatError  Not what state_dict() gives.

 private:
  std::uint64_t seed_;
  std::uint64_t rank_;
  std::uint64_t drawn_ = 0;
};

}  // namespace lockstep::accelerate

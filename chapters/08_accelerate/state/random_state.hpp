#pragma once
/// @file
/// Random numbers of one rank that a checkpoint can keep.
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>

namespace lockstep::accelerate {

/// A generator of its own on every rank, for what shall differ between ranks (augmentation, sampled negatives).
/// Weights, order and dropout need none: there random numbers depend on seed, step and sample, never on the rank.
/// Satisfies std::uniform_random_bit_generator. Thread safety: none.
/// @source Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011: a stream is a key and a counter, so
///         that its state is the number of words drawn.
class RandomState {
 public:
  using result_type = std::uint32_t;  ///< One word.

  /// @param seed  Of the job. @param rank  Streams of different ranks never overlap.
  RandomState(std::uint64_t seed, int rank) noexcept : seed_(seed), rank_(static_cast<std::uint64_t>(rank)) {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }  ///< Of operator().
  [[nodiscard]] static constexpr result_type max() noexcept {              ///< Of operator().
    return std::numeric_limits<result_type>::max();
  }
  /// The next 32 random bits. @cost  Ten rounds of Philox.
  [[nodiscard]] result_type operator()() noexcept;

  /// Goes on with the words of another seed: after a change of the number of ranks, when no rank's own state fits.
  void reseed(std::uint64_t seed) noexcept;

  [[nodiscard]] nlohmann::json state_dict() const;    ///< Seed and words drawn.
  void load_state_dict(const nlohmann::json& state);  ///< @throws FormatError  Not what state_dict() gives.

 private:
  std::uint64_t seed_;
  std::uint64_t rank_;
  std::uint64_t drawn_ = 0;
};

}  // namespace lockstep::accelerate

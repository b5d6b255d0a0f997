#pragma once
/// @file
/// A sampler whose epochs are what exercise 06.1 asks for.
#include <cstdint>
#include <memory>

#include "data/sampler.hpp"

namespace lockstep::mine {

/// Shares out what ddp::DistributedSampler does, and leaves out what does not divide.
[[nodiscard]] std::unique_ptr<data::Sampler> make_learners_sampler(std::int64_t dataset_size, int rank, int world_size,
                                                                   std::uint64_t seed);

}  // namespace lockstep::mine

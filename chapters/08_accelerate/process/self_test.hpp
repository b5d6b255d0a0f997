#pragma once
/// @file
/// Whether the ranks of a job can train together: what `lockstep doctor --test` runs, as `accelerate test` does.
#include <string>
#include <vector>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/process/partial_state.hpp"
#include "comm/job_context.hpp"

namespace lockstep::accelerate {

/// What a self-test has found; times are of this rank.
struct SelfTestResult {
  int world_size = 1;              ///< Ranks that took part.
  std::vector<std::string> hosts;  ///< Where they run, each once, in rank order.
  double small_us = 0;             ///< All-reduce of 1 KiB, in microseconds.
  double bandwidth_gb_s = 0;       ///< Bytes of a buffer of 16 MiB over the time of its all-reduce, 10^9 per second.
  double step_ms = 0;              ///< A step of training, all ranks together.
  double alone_ms = 0;             ///< The same step by one rank, with the batch of all.
  double first_loss = 0;           ///< Mean over all ranks.
  double last_loss = 0;            ///< After the last step.
  /// The largest relative difference of the losses from those of one rank; at most kSelfTestTolerance.
  double difference = 0;
};

/// Ranks add gradients in another order than one rank does, which moves the losses by a few units of 6e-8 (float32)
/// times a step's gain. Gradients that are not averaged move them by more than 1e-2.
inline constexpr double kSelfTestTolerance = 1e-4;

/// Adds numbers that tell how often each rank was counted, measures all-reduces, and trains a tiny GPT for ten steps:
/// the replicas must be equal, the losses those of one rank that sees all samples, and the last below the first.
/// Less than a second where nothing is slow. Collective.
/// @param options  Device and backend. @param job  Joined before, and kept by the caller.
/// @param ddp      For tests, to break what shall be found.
/// @throws Error   What is wrong, on every rank. @throws  Further, as PartialState and its collectives.
[[nodiscard]] SelfTestResult run_self_test(const ProcessOptions& options, const comm::JobContext& job,
                                           const ddp::DdpOptions& ddp = {});

}  // namespace lockstep::accelerate

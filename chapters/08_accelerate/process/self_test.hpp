#pragma once
/// @file
/// Tests whether the ranks of a job can train together, for `lockstep doctor --test`; compare `accelerate test`.
#include <string>
#include <vector>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/process/partial_state.hpp"
#include "comm/job_context.hpp"

namespace lockstep::accelerate {

/// Results of a self-test; times are this rank's.
struct SelfTestResult {
  int world_size = 1;              ///< Ranks that took part.
  std::vector<std::string> hosts;  ///< The ranks' hosts, each once, in rank order.
  double small_us = 0;             ///< All-reduce of 1 KiB, in microseconds.
  double bandwidth_gb_s = 0;       ///< A 16 MiB buffer over the time of its all-reduce, in 10^9 bytes/s.
  double step_ms = 0;              ///< A step of training, all ranks together.
  double alone_ms = 0;             ///< The same step on one rank, with the whole batch.
  double first_loss = 0;           ///< Mean over all ranks.
  double last_loss = 0;            ///< After the last step.
  /// The largest relative difference of the losses from those of one rank; at most kSelfTestTolerance.
  double difference = 0;
};

/// Several ranks add gradients in a different order than one rank, which changes the losses by a few units of 6e-8
/// (float32) times a step's gain. Gradients that are not averaged change them by more than 1e-2.
inline constexpr double kSelfTestTolerance = 1e-4;

/// Sums numbers that show how often each rank was counted, measures all-reduces, and trains a tiny GPT for ten steps:
/// the replicas must be equal, the losses must match those of one rank that sees all samples, and the last must be
/// below the first. Takes less than a second if nothing is slow. Collective.
/// @param options  Device and backend. @param job  Already joined; kept by the caller.
/// @param ddp      For tests, to inject faults.
/// @throws Error   A check failed; the same on every rank. @throws  Otherwise as PartialState and its collectives.
[[nodiscard]] SelfTestResult run_self_test(const ProcessOptions& options, const comm::JobContext& job,
                                           const ddp::DdpOptions& ddp = {});

}  // namespace lockstep::accelerate

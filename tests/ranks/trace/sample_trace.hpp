#pragma once
/// @file
/// Traces of an invented data-parallel job, for tests and to look at.
#include <string>
#include <vector>

#include "trace/recorder.hpp"

namespace lockstep::test {

/// Each rank: forward, backward with buckets leaving while it runs, a wait, the optimizer; higher ranks are slower.
inline std::vector<trace::RankTrace> sample_traces(int world_size, int step_count) {
  using trace::Category;
  std::vector<trace::RankTrace> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    trace::RankTrace trace;
    trace.rank = rank;
    trace.lanes = {"compute", "communication"};
    trace.boot_id = "same machine";
    const auto add = [&](int lane, const std::string& name, Category category, int step, double begin_ms,
                         double end_ms) {
      trace.spans.push_back({name, category, lane, step, static_cast<std::int64_t>(begin_ms * 1e6),
                             static_cast<std::int64_t>(end_ms * 1e6)});
    };
    const double slow = 1 + 0.04 * rank;
    for (int step = 1; step <= step_count; ++step) {
      const double begin = 40.0 * step;
      const double forward = begin + 0.6 + 9 * slow, backward = forward + 18 * slow;
      const double last_bucket = forward + 18 * (1 + 0.04 * (world_size - 1)) + 3.5;
      add(0, "load batch", Category::kData, step, begin, begin + 0.6);
      add(0, "forward", Category::kForward, step, begin + 0.6, forward);
      add(0, "backward", Category::kBackward, step, forward, backward);
      for (int bucket = 0; bucket < 4; ++bucket) {
        const double ready = forward + 18 * slow * (bucket + 1) / 4;
        add(1, "bucket " + std::to_string(bucket), Category::kCommunication, step, ready,
            bucket == 3 ? last_bucket : ready + 2.8);
      }
      add(0, "wait for buckets", Category::kWait, step, backward, last_bucket);
      add(0, "clip and AdamW", Category::kOptimizer, step, last_bucket, last_bucket + 4.2);
    }
    ranks.push_back(std::move(trace));
  }
  return ranks;
}

}  // namespace lockstep::test

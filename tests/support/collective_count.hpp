#pragma once
/// @file
/// Counts the collectives of a group.
#include <memory>
#include <string_view>

#include "comm/process_group.hpp"
#include "trace/recorder.hpp"

namespace lockstep::test {

/// How often a group's collectives of each kind run while this lives.
class CollectiveCount {
 public:
  explicit CollectiveCount(comm::ProcessGroup& group) : group_(group) { group.record_to(recorder_); }
  ~CollectiveCount() { group_.record_to(nullptr); }
  CollectiveCount(const CollectiveCount&) = delete;
  CollectiveCount& operator=(const CollectiveCount&) = delete;

  /// @param name  "all_reduce".
  [[nodiscard]] int of(std::string_view name) const {
    int count = 0;
    for (const trace::SpanRecord& span : recorder_->snapshot().spans)
      count += span.name.substr(0, span.name.find(' ')) == name ? 1 : 0;
    return count;
  }

 private:
  comm::ProcessGroup& group_;
  std::shared_ptr<trace::Recorder> recorder_ = std::make_shared<trace::Recorder>(0);
};

}  // namespace lockstep::test

#pragma once
/// @file
/// A choice of output streams by rank, in torchrun's syntax.
#include <map>
#include <optional>
#include <string>

#include "launch/local/output_merger.hpp"

namespace lockstep::launch {

/// A choice of streams by local rank, as for torchrun's --redirects and --tee: "3" applies to all ranks, "0:1,2:3" to
/// ranks 0 and 2 only. 0 is no stream, 1 standard output, 2 standard error, 3 both.
class StreamChoice {
 public:
  /// No stream of any rank.
  StreamChoice() = default;

  /// @param text  As typed. @return  Nullopt if it is not valid.
  [[nodiscard]] static std::optional<StreamChoice> parse(const std::string& text);
  /// Both streams of all ranks.
  [[nodiscard]] static StreamChoice all() { return StreamChoice(3); }

  /// @param local_rank  Among the ranks of this host. @param stream  Of that rank.
  [[nodiscard]] bool contains(int local_rank, OutputStream stream) const noexcept;

 private:
  explicit StreamChoice(unsigned of_all) : of_all_(of_all) {}

  unsigned of_all_ = 0;               // a bit per stream
  std::map<int, unsigned> of_ranks_;  // if not empty, replaces of_all_
};

}  // namespace lockstep::launch

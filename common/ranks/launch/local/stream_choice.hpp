#pragma once
/// @file
/// Which output streams of which ranks an option means, in torchrun's spelling.
#include <map>
#include <optional>
#include <string>

#include "launch/local/output_merger.hpp"

namespace lockstep::launch {

/// A choice of streams by local rank, as torchrun's --redirects and --tee have it: "3" is a choice for all ranks,
/// "0:1,2:3" one for ranks 0 and 2, and none for the others. 0 is no stream, 1 standard output, 2 standard error, 3
/// both.
class StreamChoice {
 public:
  /// No stream of any rank.
  StreamChoice() = default;

  /// @param text  As typed. @return  Nothing where it is no such choice.
  [[nodiscard]] static std::optional<StreamChoice> parse(const std::string& text);
  /// Both streams of all ranks.
  [[nodiscard]] static StreamChoice all() { return StreamChoice(3); }

  /// @param local_rank  Among the ranks of this host. @param stream  Of that rank.
  [[nodiscard]] bool contains(int local_rank, OutputStream stream) const noexcept;

 private:
  explicit StreamChoice(unsigned of_all) : of_all_(of_all) {}

  unsigned of_all_ = 0;               // a bit per stream
  std::map<int, unsigned> of_ranks_;  // where not empty, all that counts
};

}  // namespace lockstep::launch

#pragma once
// Describes what ranks are doing and which ranks they wait for. Internal to the hub.
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/control/hub/group_ledger.hpp"

namespace lockstep::comm {

// Used by the judge when the job has failed or a call takes long. Its texts are short for any number of ranks.
class Explainer {
 public:
  // unanswered: ranks that were asked for their status and have not answered: their reports may be old.
  Explainer(const GroupLedger& groups, const std::set<int>& unanswered) : groups_(groups), unanswered_(unanswered) {}

  // The calls that these ranks of a group entered last.
  [[nodiscard]] std::string describe_ranks(const std::vector<int>& ranks, const GroupKey& group) const;
  // The rank that `rank` waits for in a message, and what that rank is doing.
  [[nodiscard]] std::string describe_pair(int rank, int group, const PairStatus& pair) const;
  // Adds the ranks at fault to a mismatch or timeout that `reporter` has seen.
  [[nodiscard]] Failure explained(Failure failure, int reporter) const;

 private:
  using CollectiveKey = std::pair<GroupKey, std::uint64_t>;

  [[nodiscard]] std::string_view caveat(int rank) const;
  [[nodiscard]] std::string describe_rank(int rank) const;
  [[nodiscard]] std::string describe_all() const;
  [[nodiscard]] bool explain_timeout(Failure& failure, int rank, std::set<CollectiveKey>& seen) const;
  void name_outlier(Failure& failure, int reporter) const;

  const GroupLedger& groups_;
  const std::set<int>& unanswered_;
};

}  // namespace lockstep::comm

#pragma once
// Puts into words what ranks do and whom they wait for. Internal to the hub.
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/control/hub/group_ledger.hpp"

namespace lockstep::comm {

// For the judge, once the job has failed or a call takes long. Its texts are short, however many ranks there are.
class Explainer {
 public:
  // unanswered: ranks that have been asked where they are, and have not answered: their reports may be old.
  Explainer(const GroupLedger& groups, const std::set<int>& unanswered) : groups_(groups), unanswered_(unanswered) {}

  // What these ranks of a group entered last.
  [[nodiscard]] std::string describe_ranks(const std::vector<int>& ranks, const GroupKey& group) const;
  // For whom `rank` waits in a message, and what that one does.
  [[nodiscard]] std::string describe_pair(int rank, int group, const PairStatus& pair) const;
  // A mismatch or timeout, with the ranks that it can be put down to; `reporter` has seen it.
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

#pragma once
// Checks that all ranks of a group issue the same calls, for backends whose messages do not. Internal to the hub.
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/fingerprint.hpp"

namespace lockstep::comm {

// The ranks of a group, as ranks of the job, in the order of the group's ranks. A list may have thousands, so it is
// kept once; two groups are the same if they share it.
using Members = std::shared_ptr<const std::vector<int>>;

// Collects the calls that ranks post and compares them, number by number. Ranks post at different times: the first one
// to post a call defines it, and the others must post the same.
class CallLedger {
 public:
  // All participants have posted the same calls up to this one, given as posted by rank `rank` of the job.
  struct Agreement {
    int rank;
    Fingerprint call;
  };
  struct Verdict {
    std::vector<Agreement> agreements;
    std::optional<std::string> disagreement;  // for people: which rank posted which call
  };

  // Rank `rank` of the job has issued the next call of its group. The cost does not depend on the number of members,
  // except for the last one to post a call, whose verdict names all.
  // Throws FormatError: the call's number is not the next one, or the rank or its peer is not a member.
  Verdict add(int rank, int group, const Members& members, const Fingerprint& call);

  // No rank will post calls of this group again.
  void forget(int group, const Members& members);

 private:
  // The collectives of a group, or the messages from one of its ranks to another. Ranks in the group, or -1.
  struct Channel {
    int group;
    Members members;
    int source;
    int destination;
    auto operator<=>(const Channel&) const = default;
  };
  struct Entry {
    Fingerprint call;    // for a message: as its sender issued it
    Fingerprint posted;  // as first_rank issued it
    int first_rank;      // that posted it
  };
  struct Book {
    std::uint64_t first = 0;  // number of entries.front(): all before are agreed on
    std::deque<Entry> entries;
    std::vector<std::uint64_t> posted;  // calls of all participants: by rank in the group, or of sender and receiver
    std::size_t behind = 0;             // how many have not posted entries.front()
  };

  Book& book_of(const Channel& channel);
  static void agree(const Channel& channel, Book& book, Verdict& verdict);

  std::map<Channel, Book> books_;
};

}  // namespace lockstep::comm

#pragma once
// Which calls all ranks of a group have issued alike, where their messages do not say so. Internal to the hub.
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

// The ranks of a group, as ranks of the job, in the order of the group's ranks. Thousands may be in one list: a list is
// kept once, and two groups are the same where they share it.
using Members = std::shared_ptr<const std::vector<int>>;

// Collects what ranks post and compares it, call number by call number. Ranks post at different times: the first to
// post a call says what it is, the others must say the same.
class CallLedger {
 public:
  // Up to this call, which is as rank `rank` of the job posted it, all who take part have posted the same.
  struct Agreement {
    int rank;
    Fingerprint call;
  };
  struct Verdict {
    std::vector<Agreement> agreements;
    std::optional<std::string> disagreement;  // for people: who posted what
  };

  // What rank `rank` of the job has issued as the next call of its group. Costs the same however many members there
  // are, but for the last of them to post a call, whose verdict names all.
  // Throws FormatError: the call's number is not the next one, or the rank or its peer is no member.
  Verdict add(int rank, int group, const Members& members, const Fingerprint& call);

  // No rank posts calls of this group any more.
  void forget(int group, const Members& members);

 private:
  // The collectives of a group; or the messages of one of its ranks to another. Places in the group, or -1.
  struct Channel {
    int group;
    Members members;
    int source;
    int destination;
    auto operator<=>(const Channel&) const = default;
  };
  struct Entry {
    Fingerprint call;    // of a message: as its sender issued it
    Fingerprint posted;  // as first_rank issued it
    int first_rank;      // that posted it
  };
  struct Book {
    std::uint64_t first = 0;  // number of entries.front(): all before are agreed on
    std::deque<Entry> entries;
    std::vector<std::uint64_t> posted;  // calls of all who take part: by place, or of sender and receiver
    std::size_t behind = 0;             // how many have not posted entries.front()
  };

  Book& book_of(const Channel& channel);
  static void agree(const Channel& channel, Book& book, Verdict& verdict);

  std::map<Channel, Book> books_;
};

}  // namespace lockstep::comm

#include "comm/call_ledger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

int place_in(const std::vector<int>& members, int rank) {
  const auto found = std::ranges::find(members, rank);
  if (found == members.end()) throw FormatError(concat("rank ", rank, " posts calls of a group that it is not in"));
  return static_cast<int>(found - members.begin());
}

// A message as its sender issued it, whichever end posts it; `place` is the poster's.
Fingerprint as_sent(const Fingerprint& call, int place) {
  Fingerprint sent = call;
  if (call.collective != Collective::kRecv) return sent;
  sent.collective = Collective::kSend;
  sent.root = place;
  return sent;
}

}  // namespace

CallLedger::Book& CallLedger::book_of(const Channel& channel) {
  const auto [found, is_new] = books_.try_emplace(channel);
  Book& book = found->second;
  if (!is_new) return book;
  if (channel.source < 0) {
    for (const int member : channel.members) book.posted[member] = 0;
  } else {
    for (const int place : {channel.source, channel.destination}) {
      book.posted[channel.members[static_cast<std::size_t>(place)]] = 0;
    }
  }
  return book;
}

void CallLedger::forget(int group, const std::vector<int>& members) {
  std::erase_if(books_, [&](const auto& book) { return book.first.group == group && book.first.members == members; });
}

CallLedger::Verdict CallLedger::add(int rank, int group, const std::vector<int>& members, const Fingerprint& call) {
  const int place = place_in(members, rank);
  Channel channel{group, members, -1, -1};
  if (is_point_to_point(call.collective)) {
    if (call.root < 0 || call.root >= static_cast<int>(members.size()) || call.root == place) {
      throw FormatError(concat("rank ", rank, " posts a message to or from rank ", call.root));
    }
    const bool is_send = call.collective == Collective::kSend;
    channel.source = is_send ? place : call.root;
    channel.destination = is_send ? call.root : place;
  }
  Book& book = book_of(channel);
  std::uint64_t& posted = book.posted.at(rank);
  if (call.sequence != posted) throw FormatError(concat("rank ", rank, " posts ", short_name(call), " out of order"));

  const Fingerprint sent = as_sent(call, place);
  const std::uint64_t index = call.sequence - book.first;
  if (index == book.entries.size()) book.entries.push_back({sent, rank});
  const Entry& entry = book.entries[index];
  if (entry.call != sent) {
    return {{},
            concat("ranks called different collectives: rank ", entry.first_rank, " ", describe(entry.call), ", rank ",
                   rank, " ", describe(sent))};
  }
  ++posted;
  const auto slowest = std::ranges::min_element(book.posted, {}, [](const auto& each) { return each.second; });
  Verdict verdict;
  while (book.first < slowest->second) {
    const Fingerprint agreed = book.entries.front().call;
    book.entries.pop_front();
    if (++book.first < slowest->second) continue;
    for (const auto& [member, count] : book.posted) {
      Fingerprint own = agreed;
      const bool is_receiver = channel.source >= 0 && member == members[static_cast<std::size_t>(channel.destination)];
      if (is_receiver) {
        own.collective = Collective::kRecv;
        own.root = channel.source;
      }
      verdict.agreements.push_back({member, own});
    }
  }
  return verdict;
}

}  // namespace lockstep::comm

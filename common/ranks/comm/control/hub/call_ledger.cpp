#include "comm/control/hub/call_ledger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

int place_in(const std::vector<int>& members, int rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place < members.size() && members[place] == rank) return rank;  // always so in a group of all ranks
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
  book.posted.resize(channel.source < 0 ? channel.members->size() : 2);  // 2: the ends of a message
  book.behind = book.posted.size();
  return book;
}

void CallLedger::forget(int group, const Members& members) {
  std::erase_if(books_, [&](const auto& book) { return book.first.group == group && book.first.members == members; });
}

// All have posted entries.front() and perhaps more: calls that all have posted are agreed on, and the last of them is
// reported.
void CallLedger::agree(const Channel& channel, Book& book, Verdict& verdict) {
  const std::uint64_t slowest = *std::ranges::min_element(book.posted);
  const Fingerprint agreed = book.entries[slowest - 1 - book.first].call;  // - 1: the last one
  book.entries.erase(book.entries.begin(), book.entries.begin() + static_cast<std::ptrdiff_t>(slowest - book.first));
  book.first = slowest;
  book.behind = static_cast<std::size_t>(std::ranges::count(book.posted, slowest));
  const std::vector<int>& members = *channel.members;
  if (channel.source < 0) {
    for (const int member : members) verdict.agreements.push_back({member, agreed});
    return;
  }
  Fingerprint received = agreed;
  received.collective = Collective::kRecv;
  received.root = channel.source;
  verdict.agreements.push_back({members[static_cast<std::size_t>(channel.source)], agreed});
  verdict.agreements.push_back({members[static_cast<std::size_t>(channel.destination)], received});
}

CallLedger::Verdict CallLedger::add(int rank, int group, const Members& members, const Fingerprint& call) {
  const int place = place_in(*members, rank);
  Channel channel{group, members, -1, -1};
  if (is_point_to_point(call.collective)) {
    if (call.root < 0 || call.root >= static_cast<int>(members->size()) || call.root == place) {
      throw FormatError(concat("rank ", rank, " posts a message to or from rank ", call.root));
    }
    const bool is_send = call.collective == Collective::kSend;
    channel.source = is_send ? place : call.root;
    channel.destination = is_send ? call.root : place;
  }
  Book& book = book_of(channel);
  const int own = channel.source < 0 ? place : place == channel.source ? 0 : 1;
  std::uint64_t& posted = book.posted[static_cast<std::size_t>(own)];
  if (call.sequence != posted) throw FormatError(concat("rank ", rank, " posts ", short_name(call), " out of order"));

  const Fingerprint sent = as_sent(call, place);
  const std::uint64_t index = call.sequence - book.first;
  if (index == book.entries.size()) book.entries.push_back({sent, call, rank});
  const Entry& entry = book.entries[index];
  if (entry.call != sent) {
    return {{},
            concat("ranks called different collectives: rank ", entry.first_rank, " ", describe(entry.posted),
                   ", rank ", rank, " ", describe(call))};
  }
  Verdict verdict;
  const bool was_behind = posted++ == book.first;
  if (was_behind && --book.behind == 0) agree(channel, book, verdict);
  return verdict;
}

}  // namespace lockstep::comm

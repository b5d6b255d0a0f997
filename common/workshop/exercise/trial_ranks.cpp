#include "exercise/trial_ranks.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPollInterval{10};
constexpr std::chrono::seconds kForAsking{20};            // until all ranks have received their questions
constexpr milliseconds kDelay{200}, kLongestDelay{3000};  // for the rank that begins after the others
// For all answers together: a rank's messages must not exhaust the judge's memory.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kMostAnswerValues = 100'000;

void make_buffers_small(const UniqueFd& fd) {
  const int bytes = 1;  // the kernel uses its minimum instead
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// Connections between all ranks: ends[r][p] is rank r's to rank p.
std::vector<std::map<int, UniqueFd>> connect_all(int world_size, bool has_small_buffers) {
  std::vector<std::map<int, UniqueFd>> ends(static_cast<std::size_t>(world_size));
  for (int a = 0; a < world_size; ++a) {
    for (int b = a + 1; b < world_size; ++b) {
      auto [first, second] = connected_pair();
      if (has_small_buffers) {
        make_buffers_small(first);
        make_buffers_small(second);
      }
      ends[a][b] = std::move(first);
      ends[b][a] = std::move(second);
    }
  }
  return ends;
}

}  // namespace

std::pair<UniqueFd, UniqueFd> connected_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw IoError("cannot connect ranks", errno);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TrialRanks::TrialRanks(const Subject& subject, const TrialOptions& options)
    : subject_(subject), options_(options), board_(ProgressBoard::create()) {
  require(options.world_size >= 1 && options.world_size <= kMostRanks, "exercise: a trial of ", options.world_size,
          " ranks; 1 to ", kMostRanks, " are possible");
  start_all();
}

void TrialRanks::start_all() {
  const auto ends = connect_all(options_.world_size, options_.has_small_buffers);
  for (int rank = 0; rank < options_.world_size; ++rank) {
    auto [ours, theirs] = connected_pair();
    std::vector<PassedDescriptor> passed = {{kControlFd, theirs.get()}, {kBoardFd, board_.fd()}};
    for (const auto& [peer, fd] : ends[rank]) passed.push_back({kFirstLinkFd + peer, fd.get()});
    std::vector<std::string> variables = options_.variables;
    variables.push_back(concat(kRankVariable, "=", rank));
    const auto world_size = static_cast<std::size_t>(options_.world_size);
    const MessageLimits limits{.bytes = kMostAnswerBytes / world_size, .values = kMostAnswerValues / world_size};
    ranks_.push_back({RankProcess(subject_.command(), variables, passed), std::move(ours), MessageReader(limits)});
  }
}

// A rank that does not read its question hangs before it has begun: watch() reports it.
void TrialRanks::ask(int rank, Clock::time_point end) {
  std::vector<int> peers;
  for (int peer = 0; peer < options_.world_size; ++peer)
    if (peer != rank) peers.push_back(peer);
  try {
    const nlohmann::json question = {{"rank", rank},
                                     {"world_size", options_.world_size},
                                     {"peers", peers},
                                     {"most_at_once", options_.most_at_once},
                                     {"mistake", subject_.mistake},
                                     {"values", options_.question(rank)}};
    (void)send_message_until(ranks_[rank].control.get(), question, end);
  } catch (const IoError&) {
    // It has ended, perhaps after an answer: look() reads the remaining data.
  }
}

void TrialRanks::ask_all() {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(kForAsking * subject_.patience);
  for (int rank = 0; rank < options_.world_size; ++rank)
    if (rank != options_.delayed_rank) ask(rank, end);
  if (options_.delayed_rank < 0) return;
  await_others();
  ask(options_.delayed_rank, end);
}

// The others run as far as they can without the delayed rank; on a busy machine that takes longer than kDelay.
void TrialRanks::await_others() {
  const Clock::time_point begin = Clock::now();
  const auto longest = std::chrono::duration_cast<Clock::duration>(kLongestDelay * subject_.patience);
  do {
    ::poll(nullptr, 0, static_cast<int>(kDelay.count()));
  } while (!are_all_settled_without(options_.delayed_rank) && Clock::now() - begin < longest);
}

bool TrialRanks::are_all_settled_without(int absent) {
  for (int rank = 0; rank < options_.world_size; ++rank) {
    RankProcess& process = ranks_[rank].process;
    const bool has_begun = process.has_ended() || board_.of(rank).state != RankState::kStarting;
    if (rank != absent && (!has_begun || process.is_runnable())) return false;
  }
  return true;
}

void TrialRanks::look() {
  std::vector<pollfd> events;
  for (const TrialRank& rank : ranks_)
    if (!rank.is_done())
      events.insert(events.end(), {{rank.control.get(), POLLIN, 0}, {rank.process.output_fd(), POLLIN, 0}});
  ::poll(events.data(), events.size(), static_cast<int>(kPollInterval.count()));
  for (TrialRank& rank : ranks_) {
    rank.process.read_output();
    if (rank.is_done()) continue;
    try {
      const bool is_open = rank.reader.read_from(rank.control.get());
      rank.reply = rank.reader.take();
      if (!is_open && !rank.reply) rank.has_ended = true;
    } catch (const FormatError& error) {
      rank.reply = nlohmann::json{{"exception", error.what()}};
    } catch (const IoError&) {
      rank.has_ended = true;
    }
  }
}

bool TrialRanks::have_answered() const { return std::ranges::all_of(ranks_, &TrialRank::has_answered); }

bool TrialRanks::has_one_failed() const {
  return std::ranges::any_of(ranks_, [](const TrialRank& rank) { return rank.is_done() && !rank.has_answered(); });
}

bool TrialRanks::is_one_runnable() const {
  return std::ranges::any_of(ranks_,
                             [](const TrialRank& rank) { return !rank.is_done() && rank.process.is_runnable(); });
}

// A long answer in transit counts as movement, too: the rank sleeps whenever the judge has not read the data sent.
std::uint64_t TrialRanks::moves() const {
  std::uint64_t sum = 0;
  for (int rank = 0; rank < options_.world_size; ++rank)
    sum += board_.of(rank).moves + ranks_[rank].is_done() + ranks_[rank].reader.received_bytes();
  return sum;
}

std::uint64_t TrialRanks::printed_bytes() const {
  std::uint64_t sum = 0;
  for (const TrialRank& rank : ranks_) sum += rank.process.printed_bytes();
  return sum;
}

bool TrialRanks::have_begun() const {
  for (int rank = 0; rank < options_.world_size; ++rank)
    if (board_.of(rank).state == RankState::kStarting) return false;
  return true;
}

std::int64_t TrialRanks::processor_time() const {
  std::int64_t sum = 0;
  for (const TrialRank& rank : ranks_)
    if (!rank.is_done()) sum += rank.process.processor_milliseconds();
  return sum;
}

milliseconds TrialRanks::time_without_processor() const {
  milliseconds sum{0};
  for (const TrialRank& rank : ranks_) sum += milliseconds(rank.process.waiting_milliseconds());
  return sum;
}

}  // namespace lockstep::exercise

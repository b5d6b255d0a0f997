#include "launch/local/job_output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "launch/watching/job_log.hpp"

namespace lockstep::launch {
namespace {

OutputStyle fitting(OutputStyle wanted) {
  const bool can_redraw = isatty(STDOUT_FILENO) == 1 && terminal_has_controls();
  return wanted == OutputStyle::kFirstLive && !can_redraw ? OutputStyle::kFirstPlain : wanted;
}

constexpr OutputStream kStreams[] = {OutputStream::kOut, OutputStream::kErr};

}  // namespace

JobOutput::JobOutput(int world_size, OutputStyle style, int first_rank)
    : world_size_(world_size),
      style_(fitting(style)),
      is_for_people_(style == OutputStyle::kFirstLive),
      queue_(STDOUT_FILENO, STDERR_FILENO),
      merger_(
          world_size, style_, [this](OutputStream stream, std::string_view text) { queue_.add(stream, text); },
          first_rank) {
  if (style == OutputStyle::kPlain) return;
  merger_.wrap([](OutputStream stream, std::string_view line) {
    constexpr std::string_view kPrefix = "[rank ";
    const std::size_t prefix = line.starts_with(kPrefix) ? line.find(']') + 2 : 0;  // 2: up to what the rank wrote
    return wrap_for(stream == OutputStream::kOut ? STDOUT_FILENO : STDERR_FILENO, line, prefix);
  });
}

void JobOutput::record_to(JobLog& log) {
  log_ = &log;
  for (int rank = 0; rank < world_size_; ++rank) {
    for (const OutputStream stream : kStreams) {
      if (!log.is_shown(rank, stream)) merger_.hide(rank, stream);
    }
  }
}

Variables JobOutput::variables() const {
  const std::optional<int> columns = terminal_columns(STDOUT_FILENO);
  Variables variables;
  if (style_ == OutputStyle::kFirstLive) variables.emplace_back("LOCKSTEP_PROGRESS", "terminal");
  if (!is_for_people_ || !columns) return variables;
  variables.emplace_back("LOCKSTEP_TERMINAL", concat("/proc/", getpid(), "/fd/", STDOUT_FILENO));
  variables.emplace_back("COLUMNS", std::to_string(*columns));
  return variables;
}

bool JobOutput::is_full() const noexcept {
  return std::ranges::any_of(kStreams, [this](OutputStream stream) { return queue_.is_full(stream); });
}

// A thousand ranks have two thousand pipes, of which few have data at a time.
void JobOutput::take_ready(ReaperProcess& ranks) {
  const std::size_t rounds = 1 + 2 * static_cast<std::size_t>(world_size_) / net::ReadySet::kMostPerCall;
  for (std::size_t round = 0; round < rounds && !is_full(); ++round) {
    for (const std::uint64_t place : ready_.take()) {
      const int rank = static_cast<int>(place / 2);
      const OutputStream stream = kStreams[place % 2];
      take_stream(rank, stream, ranks.output(rank, stream));
    }
  }
}

void JobOutput::take(ReaperProcess& ranks) {
  if (has_ready_ && !is_full()) return take_ready(ranks);
  for (int rank = 0; rank < world_size_; ++rank) {
    for (const OutputStream stream : kStreams) {
      if (!queue_.is_full(stream)) take_stream(rank, stream, ranks.output(rank, stream));
    }
  }
}

void JobOutput::take_rest(int rank, ReaperProcess& ranks) {
  for (const OutputStream stream : kStreams) take_stream(rank, stream, ranks.output(rank, stream));
}

void JobOutput::close() {
  for (int rank = 0; rank < world_size_; ++rank) {
    for (const OutputStream stream : kStreams) merger_.close(rank, stream);
  }
}

// A rank that writes without pause must not keep the launcher from its other work: a bounded number of reads.
void JobOutput::take_stream(int rank, OutputStream stream, UniqueFd& fd) {
  char buffer[16 * 1024];
  for (int reads = 0; fd.is_open() && reads < 8; ++reads) {
    const ssize_t bytes = read(fd.get(), buffer, sizeof(buffer));
    if (bytes > 0) {
      const std::string_view written(buffer, static_cast<std::size_t>(bytes));
      if (log_ != nullptr) log_->take_output(rank, stream, written);
      merger_.add(rank, stream, written);
    } else if (bytes == 0) {
      merger_.close(rank, stream);
      ready_.remove(fd.get());
      fd.reset();
    } else if (errno != EINTR) {
      return;  // no data now
    }
  }
}

void JobOutput::watch(std::vector<pollfd>& watched, ReaperProcess& ranks) {
  for (int rank = 0; rank < world_size_ && !has_ready_; ++rank) {
    for (const OutputStream stream : kStreams) {
      const UniqueFd& fd = ranks.output(rank, stream);
      if (fd.is_open()) ready_.add(fd.get(), static_cast<std::uint64_t>(2 * rank + static_cast<int>(stream)));
    }
  }
  has_ready_ = true;
  if (!is_full()) {
    watched.push_back({ready_.fd(), POLLIN, 0});
    return watch_queue(watched);
  }
  for (int rank = 0; rank < world_size_; ++rank) {
    for (const OutputStream stream : kStreams) {
      const UniqueFd& fd = ranks.output(rank, stream);
      if (fd.is_open() && !queue_.is_full(stream)) watched.push_back({fd.get(), POLLIN, 0});
    }
  }
  watch_queue(watched);
}

void JobOutput::watch_queue(std::vector<pollfd>& watched) const {
  for (const OutputStream stream : kStreams) watched.push_back({queue_.waiting_fd(stream), POLLOUT, 0});
}

bool JobOutput::drain(const Deadline& deadline, int interrupt) {
  queue_.flush();
  while (!queue_.is_empty() && !deadline.has_expired()) {
    std::vector<pollfd> watched = {{interrupt, POLLIN, 0}};
    watch_queue(watched);
    poll(watched.data(), watched.size(), deadline.poll_timeout_ms());
    queue_.flush();
    if (watched.front().revents != 0) return true;
  }
  return false;
}

}  // namespace lockstep::launch

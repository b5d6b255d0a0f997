#include "01_mini_all_reduce/attack_harness.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "01_mini_all_reduce/mini_all_reduce.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "launch/rank_environment.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "net/token.hpp"

namespace lockstep::star {
namespace {

using launch::OutputStream;
using launch::ReaperEvent;

constexpr std::int64_t kSmallCount = 1000;
constexpr std::size_t kColumns = 80;  // of the transcript
constexpr std::string_view kSumLine = "server: the sum is ";
constexpr std::string_view kListeningLine = "server: listening on ";

// The servers are in the folder of the program that attacks them.
std::string built_program(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

std::vector<std::string> command_of(const StageOptions& options) {
  const std::string count = std::to_string(options.count);
  if (options.kind == ServerKind::kNaive) return {built_program("naive_server"), "0", count};
  const std::string seconds = concat(static_cast<double>(options.server_timeout.count()) / 1000);
  return {built_program("server"), "--port", "0", "--count", count, "--timeout", seconds};
}

// [1, 2, 3, ...] x factor.
std::vector<float> values_of(std::int64_t count, int factor) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) * static_cast<float>(factor);
  return values;
}

// The port in "... on port 4242 for 4 clients" or "... on 127.0.0.1:4242 for 4 clients".
int port_in(const std::string& line) {
  const std::string before = line.substr(0, line.find(" for "));
  return std::stoi(before.substr(before.find_last_of(" :") + 1));
}

}  // namespace

AttackHarness::AttackHarness(const StageOptions& options, std::ostream& transcript)
    : options_(options),
      transcript_(transcript),
      token_(net::make_token()),
      merger_(1, launch::OutputStyle::kPlain, [this](OutputStream, std::string_view text) {
        transcript_ << wrap_words(text, kColumns, 2) << std::flush;
        lines_.emplace_back(text.substr(0, text.find('\n')));
      }) {
  server_ = std::make_unique<launch::ReaperProcess>(
      command_of(options), 1, launch::merged_environment({{"LOCKSTEP_TOKEN", token_}}), launch::inheritable_signals());
  if (!hear(kListeningLine)) throw IoError(concat("the server ", command_of(options).front(), " is not listening"));
  address_ = {"127.0.0.1", port_in(lines_[heard_ - 1])};
}

void AttackHarness::say(std::string_view who, std::string_view what) {
  transcript_ << wrap_words(concat(who, ": ", what, "\n"), kColumns, 2) << std::flush;
}

void AttackHarness::join(int rank) {
  const Deadline deadline = Deadline::after(kPatience);
  const net::Identity identity{.role = net::Role::kCollective, .rank = rank};
  clients_[rank] = is_checked() ? net::connect_authenticated(address_, token_, identity, "the server", deadline)
                                : net::StreamSocket::connect(address_, deadline);
  ++connections_;
  // The naive server accepts four clients; a later one waits in the kernel's queue, unreported.
  if (is_checked()) hear(concat("client ", rank, " "));
  if (!is_checked() && connections_ <= kWorldSize) hear("connected");
}

net::StreamSocket AttackHarness::stranger() {
  ++connections_;
  return net::StreamSocket::connect(address_, Deadline::after(kPatience));
}

std::vector<std::byte> AttackHarness::message_of(int rank, std::int64_t count) const {
  const std::vector<float> values = values_of(count, rank + 1);
  const std::span<const std::byte> payload = std::as_bytes(std::span(values));
  std::vector<std::byte> message;
  if (is_checked()) {
    const net::EncodedHeader header = net::seal({.source_rank = rank}, payload);
    message.assign(header.begin(), header.end());
  }
  message.insert(message.end(), payload.begin(), payload.end());
  return message;
}

void AttackHarness::contribute(int rank) {
  send_bytes(rank, message_of(rank, options_.count));
  hear("received [");
}

void AttackHarness::send_bytes(int rank, std::span<const std::byte> bytes) {
  clients_.at(rank).send_all(bytes, Deadline::after(kPatience));
}

void AttackHarness::leave(int rank) {
  clients_.erase(rank);
  if (is_checked()) hear(concat("client ", rank, " is dropped"));
}

bool AttackHarness::hear(std::string_view text) {
  const auto has_come = [&] {
    while (heard_ < lines_.size()) {
      if (lines_[heard_++].find(text) != std::string::npos) return true;
    }
    return false;
  };
  return wait_until(has_come, Deadline::after(kPatience));
}

// Waits for the condition; false if the server ends or the deadline passes first.
bool AttackHarness::wait_until(const std::function<bool()>& condition, const Deadline& deadline) {
  while (!condition()) {
    if (exit_code_ || deadline.has_expired()) return false;
    pump(deadline);
  }
  return true;
}

void AttackHarness::wait_for_end(const Deadline& deadline) {
  (void)wait_until([] { return false; }, deadline);
}

void AttackHarness::pump(const Deadline& deadline) {
  std::vector<pollfd> watched = {{server_->control_fd(), POLLIN, 0}};
  for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) {
    watched.push_back({server_->output(0, stream).get(), POLLIN, 0});  // -1 if closed: poll ignores it
  }
  ::poll(watched.data(), watched.size(), deadline.poll_timeout_ms());
  std::optional<int> exit_code;
  while (const std::optional<ReaperEvent> event = server_->receive()) {
    if (event->kind == ReaperEvent::Kind::kStarted) continue;
    exit_code = event->kind == ReaperEvent::Kind::kEnded && WIFEXITED(event->detail) ? WEXITSTATUS(event->detail) : 1;
  }
  for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) take_output(stream);
  if (exit_code) exit_code_ = exit_code;  // only after its last output has been read
  if (server_->has_ended() && !exit_code_) exit_code_ = 1;
}

void AttackHarness::take_output(OutputStream stream) {
  UniqueFd& fd = server_->output(0, stream);
  std::array<char, 4096> buffer{};
  while (fd.is_open()) {
    const ssize_t bytes = ::read(fd.get(), buffer.data(), buffer.size());
    if (bytes < 0) return;  // no data yet
    if (bytes == 0) return fd.reset();
    merger_.add(0, stream, std::string_view(buffer.data(), static_cast<std::size_t>(bytes)));
  }
}

bool AttackHarness::has_said(std::string_view text) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& line) { return line.starts_with(text); });
}

Outcome AttackHarness::finish(std::chrono::milliseconds patience) {
  Outcome outcome;
  outcome.expected = to_text(values_of(options_.count, 1 + 2 + 3 + 4));  // the factors of four clients
  const Deadline deadline = Deadline::after(patience);
  if (wait_until([&] { return has_said(kSumLine); }, deadline)) {
    const auto is_sum = [](const std::string& line) { return line.starts_with(kSumLine); };
    outcome.sum = std::find_if(lines_.begin(), lines_.end(), is_sum)->substr(kSumLine.size());
  }
  const bool will_answer = !outcome.sum.empty() || exit_code_;
  // Small answers wait in the kernel, so read the server's last output first. A large one might block the server until
  // it is read.
  if (will_answer && options_.count <= kSmallCount) wait_for_end(Deadline::after(kPatience));
  for (auto& [rank, socket] : clients_) {
    if (will_answer) receive_answer(rank, outcome);
  }
  if (will_answer) wait_for_end(Deadline::after(kPatience));
  outcome.has_server_ended = exit_code_.has_value();
  if (exit_code_.value_or(0) != 0) outcome.servers_error = lines_.back();
  return outcome;
}

void AttackHarness::receive_answer(int rank, Outcome& outcome) {
  std::string answer;
  try {
    answer = answer_of(clients_.at(rank), outcome, rank);
  } catch (const Error& error) {
    answer = concat("receives nothing: ", error.what());
    outcome.without_answer.push_back(rank);
  }
  say(concat("client ", rank), answer);
}

std::string AttackHarness::answer_of(net::StreamSocket& socket, Outcome& outcome, int rank) const {
  const Deadline deadline = Deadline::after(kPatience);
  std::vector<float> sum(static_cast<std::size_t>(options_.count));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(sum));
  if (!is_checked()) {
    socket.receive_exactly(bytes, deadline);
  } else {
    const net::Frame frame = net::receive_frame(socket, {.max_payload_bytes = 1 << 20}, deadline);
    if (frame.header.type == net::FrameType::kControl) {
      outcome.refusals[rank] = net::to_text(frame.payload);
      return concat("is told: ", outcome.refusals[rank]);
    }
    if (frame.payload.size() != bytes.size()) throw FormatError(concat("a sum of ", frame.payload.size(), " bytes"));
    std::memcpy(bytes.data(), frame.payload.data(), bytes.size());
  }
  return concat("receives the sum ", to_text(sum));
}

}  // namespace lockstep::star

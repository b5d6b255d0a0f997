#include "launch/local/output_merger.hpp"

#include <algorithm>
#include <utility>

#include "base/terminal.hpp"
#include "base/text.hpp"

namespace lockstep::launch {
namespace {

std::size_t index_of(OutputStream stream) { return static_cast<std::size_t>(stream); }

// Number of bytes of a UTF-8 text that form whole characters; all bytes of any other text. In a character of several
// bytes, the first gives their number, and all others begin with the bits 10.
std::size_t bytes_of_whole_characters(std::string_view text) {
  std::size_t begin = text.size();
  do {
    if (begin == 0 || text.size() - begin == 4) return text.size();
    --begin;
  } while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80);
  const auto first = static_cast<unsigned char>(text[begin]);
  const std::size_t wanted = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
  return text.size() - begin < wanted ? begin : text.size();
}

// The last text of a line that was redrawn, with the "\r" that follows it.
std::string_view last_text(std::string_view line) {
  const std::size_t end = line.find_last_not_of('\r');
  const std::size_t redraw = end == std::string_view::npos ? end : line.rfind('\r', end);
  return redraw == std::string_view::npos ? line : line.substr(redraw + 1);
}

// Without control sequences, "ESC [ ... letter".
std::string without_controls(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = std::min(line.find("\033[", at), line.size());
    text.append(line.substr(at, begin - at));
    const std::size_t end = line.find_first_not_of("0123456789;?", begin + 2);
    at = begin == line.size() || end == std::string_view::npos ? line.size() : end + 1;
  }
  return text;
}

}  // namespace

OutputMerger::OutputMerger(int world_size, OutputStyle style, Sink sink, int first_rank)
    : ranks_(static_cast<std::size_t>(world_size)), style_(style), sink_(std::move(sink)), first_rank_(first_rank) {}

void OutputMerger::hide(int rank, OutputStream stream) {
  ranks_[static_cast<std::size_t>(rank)].is_hidden[index_of(stream)] = true;
}

// Whether it is shown at once, not line by line.
bool OutputMerger::is_live(int rank, OutputStream stream) const {
  const bool is_shown = !ranks_[static_cast<std::size_t>(rank)].is_hidden[index_of(stream)];
  return is_shown && rank == 0 && stream == OutputStream::kOut && style_ == OutputStyle::kFirstLive;
}

void OutputMerger::add(int rank, OutputStream stream, std::string_view bytes) {
  if (is_live(rank, stream)) pass_on_live(bytes);
  std::string& held = ranks_[static_cast<std::size_t>(rank)].held[index_of(stream)];
  held.append(bytes);
  std::size_t begin = 0;
  for (std::size_t end = held.find('\n'); end != std::string::npos; end = held.find('\n', begin)) {
    pass_on(rank, stream, std::string_view(held).substr(begin, end - begin));
    begin = end + 1;
  }
  held.erase(0, begin);
  if (is_live(rank, stream)) held = last_text(held);  // else a line that is redrawn for long would seem too long
  if (held.size() <= kLongestLine) return;
  std::string rest = held.substr(bytes_of_whole_characters(held));
  held.resize(held.size() - rest.size());
  close(rank, stream);
  held = std::move(rest);
}

void OutputMerger::close(int rank, OutputStream stream) {
  std::string& held = ranks_[static_cast<std::size_t>(rank)].held[index_of(stream)];
  if (held.empty()) return;
  const std::string line = std::exchange(held, {});
  if (rank == 0 && stream == OutputStream::kOut && !live_.empty()) {
    sink_(stream, concat(kClearLiveLine, std::exchange(live_, {}), "\n"));
    is_at_begin_ = false;
  }
  pass_on(rank, stream, line);
}

void OutputMerger::announce(const std::string& line) {
  write_between(OutputStream::kErr, wrapped(OutputStream::kErr, line) + "\n");
}

std::vector<std::string> OutputMerger::last_lines(int rank) const {
  const std::deque<std::string>& kept = ranks_[static_cast<std::size_t>(rank)].kept;
  return {kept.begin(), kept.end()};
}

void OutputMerger::pass_on(int rank, OutputStream stream, std::string_view line) {
  Rank& of_rank = ranks_[static_cast<std::size_t>(rank)];
  keep(of_rank, line);
  if (of_rank.is_hidden[index_of(stream)] || is_live(rank, stream)) return;  // not shown, or written already
  const bool has_prefix = style_ == OutputStyle::kPrefixed || (rank != 0 && style_ != OutputStyle::kPlain);
  std::string text = has_prefix ? "[rank " + std::to_string(first_rank_ + rank) + "] " : std::string();
  write_between(stream, wrapped(stream, text.append(line)) + "\n");
}

std::string OutputMerger::wrapped(OutputStream stream, const std::string& line) const {
  return wrap_ ? wrap_(stream, line) : line;
}

void OutputMerger::pass_on_live(std::string_view bytes) {
  sink_(OutputStream::kOut, bytes);
  for (const char byte : bytes) {
    if (byte == '\r') {
      is_at_begin_ = true;
      continue;
    }
    if (byte == '\n' || is_at_begin_) live_.clear();
    is_at_begin_ = false;
    if (byte != '\n') live_ += byte;
  }
}

// A progress line is redrawn by "\r": only its last text counts.
void OutputMerger::keep(Rank& rank, std::string_view line) {
  line = last_text(line);
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  rank.kept.push_back(without_controls(line));
  if (rank.kept.size() > kKeptLines) rank.kept.pop_front();
}

// If rank 0's progress line is on the terminal, it makes room for the text and is redrawn below it.
void OutputMerger::write_between(OutputStream stream, const std::string& text) {
  if (live_.empty()) {
    sink_(stream, text);
    return;
  }
  sink_(OutputStream::kOut, kClearLiveLine);
  sink_(stream, text);
  sink_(OutputStream::kOut, is_at_begin_ ? live_ + "\r" : live_);
}

}  // namespace lockstep::launch

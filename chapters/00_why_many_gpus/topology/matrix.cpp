#include "00_why_many_gpus/topology/matrix.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

struct KindWord {
  PathKind kind;
  std::string_view word;
  std::string_view meaning;
};
constexpr std::array<KindWord, 7> kKinds = {{
    {PathKind::kSystem, "SYS", "PCIe, then the link between processors (crosses NUMA nodes)"},
    {PathKind::kNode, "NODE", "PCIe, then the link between two host bridges of one NUMA node"},
    {PathKind::kHostBridge, "PHB", "PCIe through a host bridge, which is in the processor"},
    {PathKind::kBridges, "PXB", "several PCIe switches, but not the processor"},
    {PathKind::kBridge, "PIX", "one PCIe switch"},
    {PathKind::kNvLinks, "NV#", "NVLinks, bonded: their bandwidths add up"},
    {PathKind::kSelf, "X", "the device itself"},
}};

const KindWord& row_of(PathKind kind) noexcept {
  return *std::ranges::find_if(kKinds, [&](const KindWord& each) { return each.kind == kind; });
}

struct Token {
  std::string text;
  std::size_t column = 1;  // of its first character, counted from 1
};
struct Line {
  std::size_t number = 0;  // counted from 1
  std::vector<Token> tokens;
  std::size_t end_column = 1;  // one past the last character
};

// Removes the escape codes that underline the header on a terminal: ESC [ digits letter.
std::string without_terminal_codes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
  }
  return plain;
}

Line split(std::string_view text, std::size_t number) {
  Line line{number, {}, text.size() + 1};
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t i = text.find_first_not_of(kBlank); i != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, i), text.size());
    line.tokens.push_back({std::string(text.substr(i, end - i)), i + 1});
    i = text.find_first_not_of(kBlank, end);
  }
  return line;
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(split(std::string_view(text).substr(begin, end - begin), lines.size() + 1));
    begin = end + 1;
  }
  return lines;
}

std::optional<Path> parse_path(std::string_view word) {
  for (const KindWord& each : kKinds) {
    if (each.kind != PathKind::kNvLinks && each.word == word) return Path{each.kind, 0};
  }
  if (!word.starts_with("NV")) return std::nullopt;
  Path path{PathKind::kNvLinks, 0};
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data() + 2, end, path.nvlinks);
  if (result.ec != std::errc() || result.ptr != end || path.nvlinks < 1) return std::nullopt;
  return path;
}

bool is_gpu_name(const std::string& word) {
  return word.size() > 3 && word.starts_with("GPU") && word.find_first_not_of("0123456789", 3) == std::string::npos;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& source)
      : source_(source), lines_(lines_of(without_terminal_codes(text))) {}

  Topology parse() {
    std::size_t next = find_header();
    read_header(lines_[next++]);
    for (std::size_t row = 0; row < topology_.devices.size(); ++row, ++next) read_row(row, next);
    check_symmetry();
    for (; next < lines_.size(); ++next) read_legend(lines_[next]);
    return std::move(topology_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail(std::size_t line, std::size_t column, const Parts&... parts) const {
    throw FormatError(concat(source_, ":", line, ":", column, ": ", parts...));
  }

  std::size_t find_header() const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!lines_[i].tokens.empty() && is_gpu_name(lines_[i].tokens.front().text)) return i;
    }
    fail(lines_.size() + 1, 1, "no line begins with GPU0: this is not what `nvidia-smi topo -m` prints");
  }

  // "GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID": device names up to the word CPU.
  void read_header(const Line& line) {
    std::size_t i = 0;
    for (; i < line.tokens.size() && line.tokens[i].text != "CPU"; ++i) {
      const Token& token = line.tokens[i];
      if (parse_path(token.text)) {
        fail(line.number, token.column, "this is a row; the header line above it (GPU0 GPU1 ...) is missing");
      }
      const bool is_late_gpu = is_gpu_name(token.text) && i > 0 && !topology_.devices.back().is_gpu();
      if (is_late_gpu) fail(line.number, token.column, token.text, " comes after a network card; GPUs come first");
      const bool is_twice = std::ranges::count(topology_.devices, token.text, &TopologyDevice::name) > 0;
      if (is_twice) fail(line.number, token.column, token.text, " occurs twice in the header");
      topology_.devices.emplace_back().name = token.text;
    }
    for (; i < line.tokens.size(); ++i) {  // each of the three affinity columns has one unique word
      const std::string& word = line.tokens[i].text;
      if (word == "CPU") columns_.push_back(&TopologyDevice::cpu_affinity);
      if (word == "NUMA" && line.tokens[i - 1].text != "GPU") columns_.push_back(&TopologyDevice::numa_affinity);
      if (word == "ID") columns_.push_back(&TopologyDevice::gpu_numa_id);
    }
  }

  void read_row(std::size_t row, std::size_t index) {
    TopologyDevice& device = topology_.devices[row];
    const Line line = index < lines_.size() ? lines_[index] : Line{lines_.size() + 1, {}, 1};
    if (line.tokens.empty()) fail(line.number, 1, "the row of ", device.name, " is missing");
    const std::size_t count = topology_.devices.size();
    if (line.tokens[0].text != device.name) {
      fail(line.number, line.tokens[0].column, "expected the row of ", device.name, ", found ", line.tokens[0].text);
    }
    std::vector<Path>& paths = topology_.paths.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string pair = concat("from ", device.name, " to ", topology_.devices[i].name);
      if (i + 1 >= line.tokens.size()) fail(line.number, line.end_column, "the path ", pair, " is missing");
      const Token& token = line.tokens[i + 1];
      const std::optional<Path> path = parse_path(token.text);
      if (!path) {
        fail(line.number, token.column, "the path ", pair, " is \"", token.text,
             "\"; use X, NV1, NV2, ..., PIX, PXB, PHB, NODE or SYS");
      }
      if ((path->kind == PathKind::kSelf) != (i == row)) {
        fail(line.number, token.column, "the path ", pair, " is ", token.text, "; X belongs on the diagonal only");
      }
      paths.push_back(*path);
      places_.push_back({line.number, token.column});
    }
    read_affinity(device, line, count + 1);
  }

  void read_affinity(TopologyDevice& device, const Line& line, std::size_t first) const {
    for (std::size_t i = first; i < line.tokens.size(); ++i) {
      if (i - first >= columns_.size()) {
        fail(line.number, line.tokens[i].column, "\"", line.tokens[i].text, "\" is in no column of the header");
      }
      device.*columns_[i - first] = line.tokens[i].text;
    }
  }

  void check_symmetry() const {
    const std::size_t count = topology_.devices.size();
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t i = 0; i < row; ++i) {
        const Path &there = topology_.paths[row][i], &back = topology_.paths[i][row];
        if (there == back) continue;
        const auto& [line, column] = places_[row * count + i];
        fail(line, column, topology_.devices[row].name, " to ", topology_.devices[i].name, " is ", there.text(),
             ", but the way back is ", back.text());
      }
    }
  }

  // "NIC0: mlx5_0"
  void read_legend(const Line& line) {
    if (line.tokens.size() != 2) return;
    for (TopologyDevice& device : topology_.devices) {
      if (line.tokens[0].text == device.name + ":") device.model = line.tokens[1].text;
    }
  }

  const std::string& source_;
  std::vector<Line> lines_;
  Topology topology_;
  std::vector<std::string TopologyDevice::*> columns_;       // affinity columns, in the header's order
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // line and column of each path, row by row
};

}  // namespace

std::string Path::text() const {
  return kind == PathKind::kNvLinks ? concat("NV", nvlinks) : std::string(row_of(kind).word);
}

int Path::strength() const noexcept { return static_cast<int>(kind) + (kind == PathKind::kNvLinks ? nvlinks : 1); }

std::string_view meaning_of(PathKind kind) noexcept { return row_of(kind).meaning; }

int Topology::gpu_count() const noexcept {
  return static_cast<int>(std::ranges::count_if(devices, [](const TopologyDevice& each) { return each.is_gpu(); }));
}

Topology parse_topology(std::string_view text, const std::string& source) { return Parser(text, source).parse(); }

}  // namespace lockstep::plan

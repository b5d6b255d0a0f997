#include "comm/joining/versions.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/number_list.hpp"

namespace lockstep::comm {
namespace {

struct Field {
  std::string_view name;
  std::string Versions::*value;
};

constexpr std::array kFields = {
    Field{"host", &Versions::host},           Field{"lockstep", &Versions::lockstep},
    Field{"processor", &Versions::processor}, Field{"device", &Versions::device},
    Field{"driver", &Versions::driver},       Field{"CUDA", &Versions::cuda},
    Field{"NCCL", &Versions::nccl},
};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";  // - 1: keep the last zero
}

// x86 says "model name", arm64 the numbers of implementer and part.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string part;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) return line.substr(colon + 2);                         // past ": "
    if (line.starts_with("CPU part") && part.empty()) part = "arm " + line.substr(colon + 2);  // past ": "
  }
  return part;
}

std::string list_of(const std::vector<int>& ranks, const std::vector<Versions>& by_rank) {
  const std::string text = concat(ranks.size() == 1 ? "rank " : "ranks ", list_numbers(ranks));
  const std::string& host = by_rank[static_cast<std::size_t>(ranks.front())].host;
  const bool is_one_host =
      std::ranges::all_of(ranks, [&](int rank) { return by_rank[static_cast<std::size_t>(rank)].host == host; });
  return is_one_host ? concat(text, " (host ", host, ")") : text;
}

}  // namespace

Versions own_versions() {
  return {.host = host_name(),
          .lockstep = LOCKSTEP_VERSION,
          .processor = processor_model(),
          .device = {},
          .driver = {},
          .cuda = {},
          .nccl = {}};
}

std::string encode(const Versions& versions) {
  std::string text;
  for (const Field& field : kFields) {
    std::string value = versions.*field.value;
    std::ranges::replace(value, '\n', ' ');
    text += concat(field.name, "=", value, "\n");
  }
  return text;
}

Versions decode_versions(std::string_view text) {
  Versions versions;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));  // and its end
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) throw FormatError(concat("versions of a rank: '", line, "' is no field"));
    const auto field = std::ranges::find(kFields, line.substr(0, equals), &Field::name);
    if (field != kFields.end()) versions.*field->value = line.substr(equals + 1);  // past the '='
  }
  return versions;
}

std::string describe_differences(const std::vector<Versions>& by_rank) {
  std::string text;
  for (const Field& field : kFields) {
    if (field.value == &Versions::host) continue;
    std::map<std::string, std::vector<int>> ranks;  // by value
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      ranks[by_rank[rank].*field.value].push_back(static_cast<int>(rank));
    }
    if (ranks.size() < 2) continue;
    text += concat(text.empty() ? "ranks differ in " : "; in ", field.name, ": ");
    bool is_first = true;
    for (const auto& [value, holders] : ranks) {
      text += concat(std::exchange(is_first, false) ? "" : ", ", value.empty() ? "none" : value, " on ",
                     list_of(holders, by_rank));
    }
  }
  return text;
}

void publish_versions(store::Store& store, const std::string& prefix, int rank, const Versions& versions) {
  store.set(concat(prefix, "versions/", rank), encode(versions));
}

Versions read_versions(store::Store& store, const std::string& prefix, int rank, const Deadline& deadline) {
  return decode_versions(store.get(concat(prefix, "versions/", rank), deadline));
}

}  // namespace lockstep::comm

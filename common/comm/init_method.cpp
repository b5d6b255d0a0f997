#include "comm/init_method.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::comm {
namespace {

constexpr int kMaxWorldSize = 65536;

int parse_int(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) {
    throw FormatError(concat(name, "=", text, " is not an integer"));
  }
  return value;
}

// "rank=1&world_size=4"
std::map<std::string, int> parse_query(std::string_view query) {
  std::map<std::string, int> values;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    const std::size_t equals = part.find('=');
    const std::string name(part.substr(0, equals));
    if (equals == std::string_view::npos || (name != "rank" && name != "world_size")) {
      throw FormatError(concat("init method: '", part, "' is neither rank=R nor world_size=N"));
    }
    values[name] = parse_int(name, std::string(part.substr(equals + 1)));  // past the '='
    query.remove_prefix(std::min(query.size(), part.size() + 1));          // and past the '&'
  }
  return values;
}

std::optional<int> from_environment(const char* name, std::int64_t minimum, std::int64_t maximum) {
  const auto value = environment::get_int(name, minimum, maximum);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

int need(std::optional<int> value, const char* name) {
  if (value) return *value;
  throw FormatError(concat("env://: the variable ", name, " is not set; start the program with `lockstep launch`, ",
                           "torchrun or mpirun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
}

// torchrun keeps a store of its own on MASTER_PORT.
int store_port() {
  if (const auto port = from_environment("LOCKSTEP_PORT", 1, 65535)) return *port;
  const int master_port = need(from_environment("MASTER_PORT", 1, 65535), "MASTER_PORT");
  return environment::get("TORCHELASTIC_RUN_ID") ? master_port + 1 : master_port;
}

void check_rank(const Membership& member) {
  if (member.world_size < 1) throw FormatError(concat("world size ", member.world_size, " is less than 1"));
  if (member.rank < 0 || member.rank >= member.world_size) {
    throw FormatError(concat("rank ", member.rank, " is out of range: with WORLD_SIZE=", member.world_size,
                             " ranks are 0 to ", member.world_size - 1));
  }
}

void read_environment(Membership& member, const RendezvousOptions& options) {
  member.rank = options.rank ? *options.rank : need(from_environment("RANK", 0, kMaxWorldSize - 1), "RANK");
  member.world_size =
      options.world_size ? *options.world_size : need(from_environment("WORLD_SIZE", 1, kMaxWorldSize), "WORLD_SIZE");
  check_rank(member);
  if (member.world_size == 1 || member.running_store) return;
  const auto host = environment::get("MASTER_ADDR");
  if (!host) throw FormatError("env://: the variable MASTER_ADDR is not set; it names the host of rank 0");
  member.store = {*host, store_port()};
}

void read_address(Membership& member, std::string_view address, const RendezvousOptions& options) {
  const std::size_t question = address.find('?');
  const auto query = question == std::string_view::npos ? std::map<std::string, int>{}
                                                        : parse_query(address.substr(question + 1));  // past the '?'
  const auto value = [&](const char* name, std::optional<int> option) {
    if (option) return *option;
    if (const auto found = query.find(name); found != query.end()) return found->second;
    throw FormatError(concat("tcp://", address, ": ", name, " is not given; add ?rank=R&world_size=N"));
  };
  member.rank = value("rank", options.rank);
  member.world_size = value("world_size", options.world_size);
  check_rank(member);
  member.store = net::SocketAddress::parse(address.substr(0, question));
  if (member.store.port == 0) throw FormatError(concat("tcp://", address, ": port 0 cannot be met at"));
}

std::chrono::milliseconds limit(const char* name, std::chrono::milliseconds otherwise) {
  const auto text = environment::get(name);
  if (!text) return otherwise;
  char* stop = nullptr;
  const double seconds = std::strtod(text->c_str(), &stop);
  if (*stop != '\0' || !(seconds > 0.0) || seconds > 1e9) {
    throw FormatError(concat(name, "=", *text, " is not a positive number of seconds"));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

}  // namespace

Membership read_membership(const std::string& init_method, const RendezvousOptions& options) {
  constexpr std::string_view kTcp = "tcp://";
  Membership member;
  member.generation = options.generation.value_or(from_environment("LOCKSTEP_GENERATION", 0, 1 << 30).value_or(0));
  const auto store = options.store ? options.store : environment::get("LOCKSTEP_STORE");
  if (store) member.running_store = net::SocketAddress::parse(*store);
  if (init_method == "env://") {
    read_environment(member, options);
  } else if (init_method.starts_with(kTcp)) {
    read_address(member, std::string_view(init_method).substr(kTcp.size()), options);
    if (!options.store) member.running_store.reset();  // the address was given by hand
  } else {
    throw FormatError(concat("init method '", init_method, "' is neither env:// nor tcp://host:port"));
  }
  const auto local = [](std::optional<int> option, const char* name, int otherwise) {
    return option ? *option : from_environment(name, 0, kMaxWorldSize).value_or(otherwise);
  };
  member.local_rank = local(options.local_rank, "LOCAL_RANK", member.rank);
  member.local_world_size = local(options.local_world_size, "LOCAL_WORLD_SIZE", member.world_size);
  return member;
}

JobLimits limits_from_environment() {
  JobLimits limits;
  limits.join = limit("LOCKSTEP_JOIN_SECONDS", limits.join);
  limits.liveness = limit("LOCKSTEP_LIVENESS_SECONDS", limits.liveness);
  limits.progress_report = limit("LOCKSTEP_PROGRESS_REPORT_SECONDS", limits.progress_report);
  limits.progress = limit("LOCKSTEP_PROGRESS_SECONDS", limits.progress);
  if (environment::get("LOCKSTEP_DEBUGGER").value_or("0") == "1") {
    constexpr std::chrono::hours kNever{24 * 365};  // a person in a debugger takes what time they need
    limits.liveness = limits.progress_report = limits.progress = kNever;
  }
  return limits;
}

}  // namespace lockstep::comm

#include "comm/joining/init_method.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace lockstep::comm {
namespace {

// The parts of an init_method.
struct Address {
  std::string scheme;  // "tcp://"
  std::string place;
  std::optional<int> rank;
  std::optional<int> world_size;
};

int parse_int(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) {
    throw FormatError(concat(name, "=", text, " is not an integer"));
  }
  return value;
}

// "rank=1&world_size=4"
void parse_query(std::string_view query, Address& address) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    const std::size_t equals = part.find('=');
    const std::string name(part.substr(0, equals));
    if (equals == std::string_view::npos || (name != "rank" && name != "world_size")) {
      throw FormatError(concat("init method: '", part, "' is neither rank=R nor world_size=N"));
    }
    std::optional<int>& value = name == "rank" ? address.rank : address.world_size;
    if (value) throw FormatError(concat("init method: ", name, " is given twice"));
    value = parse_int(name, std::string(part.substr(equals + 1)));  // past the '='
    query.remove_prefix(std::min(query.size(), part.size() + 1));   // and past the '&'
  }
}

Address parse_address(const std::string& init_method) {
  for (const std::string_view scheme : {"env://", "tcp://", "file://"}) {
    if (!init_method.starts_with(scheme)) continue;
    const std::string_view rest = std::string_view(init_method).substr(scheme.size());
    const std::size_t question = rest.find('?');
    Address address{std::string(scheme), std::string(rest.substr(0, question)), {}, {}};
    if (question != std::string_view::npos) parse_query(rest.substr(question + 1), address);  // past the '?'
    if (scheme != "env://" || rest.empty()) return address;
  }
  throw FormatError(concat("init method '", init_method, "' is neither env:// nor tcp://host:port nor file:///path"));
}

[[noreturn]] void fail_unset(const Address& address, const char* variable, const char* key) {
  if (address.scheme != "env://") {
    throw FormatError(concat(address.scheme, address.place, ": ", key, " is not given; add ?rank=R&world_size=N, or ",
                             "set RANK and WORLD_SIZE"));
  }
  throw FormatError(concat("env://: the variable ", variable, " is not set; start the program with `lockstep launch`, ",
                           "torchrun, mpirun or srun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
}

void check_rank(const Membership& member) {
  if (member.world_size < 1) throw FormatError(concat("world size ", member.world_size, " is less than 1"));
  if (member.world_size > kMaxWorldSize) {
    throw FormatError(concat("world size ", member.world_size, " is more than ", kMaxWorldSize));
  }
  if (member.rank < 0 || member.rank >= member.world_size) {
    throw FormatError(concat("rank ", member.rank, " is out of range: with WORLD_SIZE=", member.world_size,
                             " ranks are 0 to ", member.world_size - 1));
  }
}

void check_local_rank(const Membership& member) {
  if (member.local_world_size < 1 || member.local_world_size > member.world_size) {
    throw FormatError(concat("LOCAL_WORLD_SIZE=", member.local_world_size, " is out of range: the job has ",
                             member.world_size, member.world_size == 1 ? " rank" : " ranks"));
  }
  if (member.local_rank < 0 || member.local_rank >= member.local_world_size) {
    throw FormatError(concat("LOCAL_RANK=", member.local_rank, " is out of range: with LOCAL_WORLD_SIZE=",
                             member.local_world_size, " local ranks are 0 to ", member.local_world_size - 1));
  }
}

// torchrun's own store uses MASTER_PORT.
int store_port(const VariableLookup& lookup, const EnvironmentPlace& place, const Address& address) {
  if (const auto port = read_int(lookup, "LOCKSTEP_PORT", 1, 65535)) return *port;
  const auto master_port = read_int(lookup, "MASTER_PORT", 1, 65535);
  if (master_port && lookup("TORCHELASTIC_RUN_ID")) {
    if (*master_port == 65535)
      throw FormatError("MASTER_PORT=65535 leaves no port after torchrun's; set LOCKSTEP_PORT");
    return *master_port + 1;
  }
  const auto port = master_port ? master_port : place.port;
  if (!port) fail_unset(address, "MASTER_PORT", "port");
  return *port;
}

// Other programs take "host:port" for such an address.
void require_host(const std::string& master) {
  const bool has_more = master.find_first_of("/ ") != std::string::npos || master.find(':') != std::string::npos;
  if (!has_more || net::is_number(net::without_brackets(master))) return;
  const std::string what = concat("MASTER_ADDR=", master, " is more than a host; write ");
  try {
    const net::SocketAddress address = net::SocketAddress::parse(master);
    if (master.find('/') == std::string::npos)
      throw FormatError(concat(what, "MASTER_ADDR=", address.host, " and MASTER_PORT=", address.port));
  } catch (const FormatError& error) {
    if (std::string_view(error.what()).starts_with(what)) throw;
  }
  throw FormatError(what + "the host alone, and its port into MASTER_PORT");
}

net::SocketAddress meeting_point(const VariableLookup& lookup, const EnvironmentPlace& place, const Address& address) {
  const auto master = lookup("MASTER_ADDR");
  if (master) require_host(*master);
  const auto host = master ? master : place.host;
  if (!host) throw FormatError("env://: the variable MASTER_ADDR is not set; it names the host of rank 0");
  return {net::without_brackets(*host), store_port(lookup, place, address)};
}

// Options come first, then the address, then the environment.
void read_rank(Membership& member, const Address& address, const RendezvousOptions& options,
               const EnvironmentPlace& place) {
  const auto pick = [&](std::optional<int> option, std::optional<int> given, std::optional<int> placed,
                        const char* variable, const char* key) {
    if (option) return *option;
    if (given) return *given;
    if (!placed) fail_unset(address, variable, key);
    return *placed;
  };
  member.rank = pick(options.rank, address.rank, place.rank, "RANK", "rank");
  member.world_size = pick(options.world_size, address.world_size, place.world_size, "WORLD_SIZE", "world_size");
  check_rank(member);
  member.local_rank = options.local_rank.value_or(place.local_rank.value_or(member.rank));
  member.local_world_size = options.local_world_size.value_or(place.local_world_size.value_or(member.world_size));
  check_local_rank(member);
}

// The first variable that is set: launchers count their restarts, so that ranks of earlier ones are rejected. torchrun
// runs inside a Slurm job, not the other way round.
int read_generation(const VariableLookup& lookup) {
  for (const char* name : {"LOCKSTEP_GENERATION", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}) {
    if (const auto count = read_int(lookup, name, 0, 1 << 30)) return *count;
  }
  return 0;
}

// Variables that are not needed are not read, so that they cannot cause errors.
EnvironmentPlace place_for(const Address& address, const RendezvousOptions& options, const VariableLookup& lookup) {
  const bool is_known = (options.rank || address.rank) && (options.world_size || address.world_size);
  if (!is_known || address.scheme == "env://") return read_place(lookup);
  return {};
}

std::chrono::milliseconds limit(const VariableLookup& lookup, const char* name, std::chrono::milliseconds otherwise) {
  const auto text = lookup(name);
  if (!text) return otherwise;
  char* stop = nullptr;
  const double seconds = std::strtod(text->c_str(), &stop);
  if (*stop != '\0' || !(seconds >= 1e-3) || seconds > 1e9) {
    throw FormatError(concat(name, "=", *text, " is not a positive number of seconds"));
  }
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

}  // namespace

Membership read_membership(const std::string& init_method, const RendezvousOptions& options,
                           const VariableLookup& lookup) {
  Membership member;
  member.generation = options.generation ? *options.generation : read_generation(lookup);
  const Address address = parse_address(init_method);
  const bool is_env = address.scheme == "env://";
  const auto running = options.store || !is_env ? options.store : lookup("LOCKSTEP_STORE");
  if (running) member.running_store = net::SocketAddress::parse(*running);
  const EnvironmentPlace place = place_for(address, options, lookup);
  read_rank(member, address, options, place);
  if (address.scheme == "tcp://") {
    member.store = net::SocketAddress::parse(address.place);
    if (member.store.port == 0) throw FormatError(concat("tcp://", address.place, ": ranks cannot meet at port 0"));
  } else if (address.scheme == "file://") {
    member.store_file = address.place;
    const bool has_name = member.store_file.is_absolute() && member.store_file.has_filename();
    if (!has_name)
      throw FormatError(concat("file://", address.place, " is not an absolute path of a file: file:///path"));
  } else if (member.world_size > 1 && !member.running_store) {
    member.store = meeting_point(lookup, place, address);
  }
  return member;
}

JobLimits read_limits(const VariableLookup& lookup) {
  JobLimits limits;
  limits.join = limit(lookup, "LOCKSTEP_JOIN_SECONDS", limits.join);
  limits.liveness = limit(lookup, "LOCKSTEP_LIVENESS_SECONDS", limits.liveness);
  limits.progress_report = limit(lookup, "LOCKSTEP_PROGRESS_REPORT_SECONDS", limits.progress_report);
  limits.progress = limit(lookup, "LOCKSTEP_PROGRESS_SECONDS", limits.progress);
  if (lookup("LOCKSTEP_DEBUGGER").value_or("0") == "1") {
    constexpr std::chrono::hours kNever{24 * 365};  // no limit for a person in a debugger
    limits.liveness = limits.progress_report = limits.progress = kNever;
  }
  return limits;
}

JobLimits limits_from_environment() { return read_limits(environment::get); }

}  // namespace lockstep::comm

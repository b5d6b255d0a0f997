#include "launch/watching/event_log.hpp"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"

namespace lockstep::launch {
namespace {

// Now, in UTC, to the millisecond.
std::string utc_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> day_and_time{};
  std::strftime(day_and_time.data(), day_and_time.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%s.%03dZ", day_and_time.data(), static_cast<int>(milliseconds % 1000));
  return text.data();
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& file) : path_(file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (!error) fd_ = UniqueFd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd_.is_open()) throw IoError(concat("cannot write events to ", file.string()), error ? error.value() : errno);
}

void EventLog::write(std::string_view name, const nlohmann::ordered_json& fields) noexcept try {
  nlohmann::ordered_json event{{"time", utc_time()}, {"event", name}};
  if (!fields.is_null()) event.update(fields);
  const std::string line = (is_torn_ ? "\n" : "") + dump_json(event, kOneLine, BadUtf8::kReplace) + "\n";
  ssize_t written = -1;
  do {
    written = ::write(fd_.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) {
    is_torn_ = false;
    return;
  }
  if (written >= 0) errno = ENOSPC;  // for a regular file, the only reason for a short write
  if (written > 0) is_torn_ = true;
  if (!std::exchange(has_failed_, true))
    Logger("lockstep").warning(concat("events are lost: writing ", path_.string(), ": ", strerror(errno)));
} catch (const std::exception&) {  // no memory for this line; the next event may succeed
  if (!std::exchange(has_failed_, true)) Logger("lockstep").warning("an event is lost: it cannot be written as JSON");
}

}  // namespace lockstep::launch

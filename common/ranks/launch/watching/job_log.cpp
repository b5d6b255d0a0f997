#include "launch/watching/job_log.hpp"

#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/process.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {

JobLog::JobLog(const std::filesystem::path& events, std::optional<LogOptions> logs) {
  if (!events.empty()) events_.emplace(events);
  if (logs) logs_.emplace(*std::move(logs));
}

void JobLog::write(std::string_view event, const nlohmann::ordered_json& fields) {
  if (!events_) return;
  nlohmann::ordered_json all{{"generation", generation_}};
  all.update(fields);
  events_->write(event, all);
}

void JobLog::start(int generation, const std::vector<std::string>& command, int first_rank, int ranks,
                   const std::filesystem::path& flight_folder) {
  generation_ = generation;
  first_rank_ = first_rank;
  if (logs_) logs_->begin_attempt(generation, first_rank, ranks);
  if (page_) page_->start(generation, first_rank, ranks, flight_folder);
  write("start",
        {{"command", command}, {"first_rank", first_rank}, {"ranks", ranks}, {"flight_dir", flight_folder.string()}});
}

void JobLog::rank_started(int local_rank, int pid) {
  write("rank_started", {{"rank", first_rank_ + local_rank}, {"pid", pid}});
}

void JobLog::rank_ended(int local_rank, int status) {
  nlohmann::ordered_json fields{{"rank", first_rank_ + local_rank}, {"code", exit_code_of(status)}};
  if (WIFSIGNALED(status)) fields["signal"] = signal_name(WTERMSIG(status));
  write("rank_ended", fields);
}

void JobLog::failure(int local_rank, const std::string& what) {
  if (page_) page_->fail(concat("rank ", first_rank_ + local_rank, " ", what));
  write("failure", {{"rank", first_rank_ + local_rank}, {"what", what}});
}

void JobLog::signal(int number, std::string_view receiver) {
  write("signal", {{"signal", signal_name(number)}, {"to", receiver}});
}

void JobLog::preempted(int local_rank) { write("preempted", {{"rank", first_rank_ + local_rank}}); }

void JobLog::restart(int generation, const std::string& reason) {
  generation_ = generation;
  write("restart", {{"reason", reason}});
}

void JobLog::end(int exit_code) { write("end", {{"code", exit_code}}); }

void JobLog::take_output(int local_rank, OutputStream stream, std::string_view bytes) noexcept {
  if (logs_) logs_->write(local_rank, stream, bytes);
}

bool JobLog::is_shown(int local_rank, OutputStream stream) const noexcept {
  return !logs_ || logs_->is_shown(local_rank, stream);
}

}  // namespace lockstep::launch

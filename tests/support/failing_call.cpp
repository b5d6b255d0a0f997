#include "support/failing_call.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::test {
namespace {

constexpr const char* kChoice = "LOCKSTEP_FAILING_CALLS";

// The texts that name each error: strerror()'s first, then equivalent ones of ours.
const std::vector<std::pair<std::string, std::vector<std::string>>>& words_for() {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> words{
      {"EIO", {"Input/output error"}},
      {"ENOSPC", {"No space left on device"}},
      {"EDQUOT", {"Disk quota exceeded"}},
      {"EMFILE", {"Too many open files"}},
      {"ENFILE", {"Too many open files in system"}},
      {"ENOMEM", {"Cannot allocate memory", "out of memory"}},
      {"EAGAIN", {"Resource temporarily unavailable"}},
      {"EACCES", {"Permission denied"}},
      {"EROFS", {"Read-only file system"}},
      {"EPERM", {"Operation not permitted"}},
      {"EBUSY", {"Device or resource busy"}},
      {"EINTR", {"Interrupted system call"}},
  };
  return words;
}

}  // namespace

std::string FailingCall::text() const { return concat(process, " ", call, " ", nth, " ", error); }

std::vector<std::pair<std::string, std::string>> FailingCall::variables(const std::filesystem::path& log) const {
  return {{"LD_PRELOAD", LOCKSTEP_FAILING_CALLS_LIBRARY},
          {"LOCKSTEP_TEST_FAILING_CALL", text()},
          {"LOCKSTEP_TEST_FAILING_LOG", log.string()}};
}

bool FailingCall::is_named_in(const std::string& text) const {
  for (const auto& [name, words] : words_for()) {
    const auto is_there = [&text](const std::string& word) { return text.find(word) != std::string::npos; };
    if (name == error) return std::ranges::any_of(words, is_there);
  }
  throw FormatError(concat("the plan's error ", error, " has no words"));
}

std::vector<FailingCall> planned_calls(const std::vector<std::string>& processes) {
  std::vector<FailingCall> calls;
  std::istringstream plan(read_file(LOCKSTEP_FAILING_CALLS_PLAN));
  for (std::string line; std::getline(plan, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    FailingCall call;
    if (!(words >> call.process >> call.call >> call.nth >> call.error))
      throw FormatError(concat(LOCKSTEP_FAILING_CALLS_PLAN, ": '", line, "' is not PROCESS CALL NTH ERROR"));
    if (std::ranges::find(processes, call.process) != processes.end()) calls.push_back(call);
  }
  return calls;
}

std::vector<FailingCall> chosen_calls(std::vector<FailingCall> calls, std::size_t count) {
  const auto choice = environment::get(kChoice);
  if (choice == "all") return calls;
  if (choice) {
    std::erase_if(calls, [&](const FailingCall& call) { return call.text().find(*choice) == std::string::npos; });
    return calls;
  }
  std::vector<FailingCall> chosen;
  for (std::size_t i = 0; i < count && !calls.empty(); ++i) chosen.push_back(calls[i * calls.size() / count]);
  return chosen;
}

bool are_many_calls_chosen() { return environment::get(kChoice).has_value(); }

}  // namespace lockstep::test

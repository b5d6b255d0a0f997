#include "run/shared_decisions.hpp"

#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "store/store.hpp"

namespace lockstep::run {

namespace {

// The first letter of an answer.
constexpr char kMade = '=', kFailed = '!';

std::string claim_key(const std::string& prefix, const std::string& name) { return prefix + "claim/" + name; }
std::string answer_key(const std::string& prefix, const std::string& name) { return prefix + "answer/" + name; }
std::string log_key(const std::string& prefix, std::int64_t number) { return concat(prefix, "made/", number); }

}  // namespace

SharedDecisions::SharedDecisions(std::shared_ptr<store::Store> store, std::string prefix, int rank,
                                 std::chrono::milliseconds timeout)
    : store_(std::move(store)), prefix_(std::move(prefix)), rank_(rank), timeout_(timeout) {}

std::string SharedDecisions::decide(const std::string& name, const std::function<std::string()>& decide) {
  if (store_->add(claim_key(prefix_, name), 1) != 1) return wait_for(name);
  try {
    const std::string decision = decide();
    publish(name, kMade + decision);
    return decision;
  } catch (const std::exception& error) {  // of whatever type: the other ranks wait for an answer
    store_->set(answer_key(prefix_, name), concat(kFailed, "rank ", rank_, ": ", error.what()));
    throw;
  }
}

std::string SharedDecisions::wait_for(const std::string& name) {
  std::string answer;
  try {
    answer = store_->get(answer_key(prefix_, name), Deadline::after(timeout_));
  } catch (const TimeoutError& error) {
    throw TimeoutError(concat("rank ", rank_, ": another rank began to decide about ", name,
                              " and has not come to an end in ", format_seconds(timeout_), " (", error.what(), ")"));
  }
  if (answer.starts_with(kMade)) return answer.substr(1);
  throw Error(answer.substr(answer.empty() ? 0 : 1));
}

// The log comes last: who reads it finds the answers.
void SharedDecisions::publish(const std::string& name, const std::string& answer) {
  store_->set(answer_key(prefix_, name), answer);
  store_->set(log_key(prefix_, store_->add(prefix_ + "count", 1)), name);
}

std::vector<SharedDecisions::Made> SharedDecisions::take_new() {
  const std::optional<std::string> text = store_->try_get(prefix_ + "count");
  std::int64_t count = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), count);
  std::vector<Made> made;
  for (; taken_ < count; ++taken_) {
    const std::string name = store_->get(log_key(prefix_, taken_ + 1), Deadline::after(timeout_));
    made.push_back({name, store_->get(answer_key(prefix_, name), Deadline::after(timeout_)).substr(1)});
  }
  return made;
}

}  // namespace lockstep::run

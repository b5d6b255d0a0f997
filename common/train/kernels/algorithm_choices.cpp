#include "kernels/algorithm_choices.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lockstep::kernels {

namespace {

constexpr double kFasterBy = 0.98;  // of the first one's time

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

struct Chooser {
  std::mutex mutex;
  std::shared_ptr<AlgorithmChooser> current;
};

Chooser& chooser() {
  static Chooser instance;
  return instance;
}

std::size_t index_of(const AlgorithmOffer& offer, const AlgorithmTable::Choice& choice) {
  const auto found = std::ranges::find(offer.algorithms, choice.algorithm);
  if (found != offer.algorithms.end()) return static_cast<std::size_t>(found - offer.algorithms.begin());
  throw FormatError(concat(choice.where, ": ", choice.algorithm, " is none of the ", offer.algorithms.size(),
                           " algorithms that ", offer.library, " offers for ", offer.product,
                           "; remove that line, or train with --matmul-algorithms timed"));
}

}  // namespace

std::size_t fastest_algorithm(const AlgorithmOffer& offer) {
  std::optional<std::size_t> first, best;
  std::vector<double> times;
  std::string problem = "its time is not a positive number";
  for (std::size_t i = 0; i < offer.algorithms.size(); ++i) {
    times.push_back(NAN);
    try {
      times[i] = offer.trial->milliseconds(i);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (!std::isfinite(times[i]) || times[i] <= 0) continue;
    if (!first) first = i;
    if (!best || times[i] < times[*best]) best = i;
  }
  if (!first)
    throw Error(concat("none of the ", offer.algorithms.size(), " algorithms that ", offer.library, " offers for ",
                       offer.product, " could be timed (the last one: ", problem,
                       "); --matmul-algorithms first takes the library's suggestion"));
  return times[*best] < kFasterBy * times[*first] ? *best : *first;
}

AlgorithmChoices::AlgorithmChoices(ChoiceRule rule, AlgorithmTable table)
    : id_(next_id()), rule_(std::move(rule)), table_(std::move(table)) {}

std::size_t AlgorithmChoices::choose(const AlgorithmOffer& offer) {
  const std::lock_guard lock(mutex_);
  table_.require_library(offer.library);
  if (const AlgorithmTable::Choice* const known = table_.find(offer.product)) return index_of(offer, *known);
  const bool is_timed = rule_.times && offer.trial != nullptr && offer.algorithms.size() > 1;
  if (is_timed) offer.trial->prepare();
  const AlgorithmDecision decision{offer.library, offer.product,
                                   [&] { return offer.algorithms.at(is_timed ? fastest_algorithm(offer) : 0); }};
  const AlgorithmTable::Choice choice{rule_.agree ? rule_.agree(decision) : decision.decide(),
                                      "the choice of another rank"};
  const std::size_t chosen = index_of(offer, choice);
  table_.set(offer.library, offer.product, choice);
  return chosen;
}

AlgorithmTable AlgorithmChoices::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

void AlgorithmChoices::set_all(const AlgorithmTable& table) {
  const std::lock_guard lock(mutex_);
  table_.set_all(table);
}

void set_algorithm_chooser(std::shared_ptr<AlgorithmChooser> next) {
  const std::lock_guard lock(chooser().mutex);
  chooser().current = std::move(next);
}

std::shared_ptr<AlgorithmChooser> algorithm_chooser() {
  const std::lock_guard lock(chooser().mutex);
  return chooser().current;
}

}  // namespace lockstep::kernels

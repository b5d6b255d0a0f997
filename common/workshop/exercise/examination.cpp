#include "exercise/examination.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <future>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/plain_text.hpp"
#include "exercise/kernel_counts.hpp"
#include "exercise/progress_board.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kPositions = 500'000;                     // of position_values(): 17 times that is less than 2^24
constexpr int kTriedAtOnce = 4;                                 // mistakes of a bank in parallel
constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;  // for the outcomes of a check's trials

// Equal up to rounding. Differences up to kAbsolute are accepted, unless all numbers are far smaller than that.
template <typename T>
bool are_close(const nlohmann::json& a, const nlohmann::json& b) {
  constexpr T kRelative = T(1e-5), kAbsolute = T(1e-7), kTiny = T(1e-30);
  const std::vector<T> lefts = numbers_in<T>(a), rights = numbers_in<T>(b);
  const auto is_tiny = [](T value) { return std::abs(value) < kTiny; };
  const T absolute = std::ranges::all_of(lefts, is_tiny) && std::ranges::all_of(rights, is_tiny) ? 0 : kAbsolute;
  return std::ranges::equal(lefts, rights, [&](T left, T right) {
    if (left == right || (std::isnan(left) && std::isnan(right))) return true;
    if (std::isinf(left) || std::isinf(right)) return false;  // an infinite tolerance would accept anything
    return std::abs(left - right) <= kRelative * std::max(std::abs(left), std::abs(right)) + absolute;
  });
}

// A different order of additions is the same behaviour; everything but floats is compared exactly.
bool are_alike(const nlohmann::json& a, const nlohmann::json& b) {
  if (holds<float>(a) && holds<float>(b)) return are_close<float>(a, b);
  if (holds<double>(a) && holds<double>(b)) return are_close<double>(a, b);
  return a == b;
}

// Equal up to a factor of 1.5: a loop or guard written differently changes the number of requests slightly, a different
// access pattern multiplies it.
bool are_alike_counts(const KernelCounts& left, const KernelCounts& right) {
  const auto are_near = [](std::uint64_t x, std::uint64_t y) { return 2 * std::max(x, y) <= 3 * std::min(x, y); };
  const auto are_near_memory = [&](const MemoryCounts& x, const MemoryCounts& y) {
    return are_near(x.requests, y.requests) && are_near(x.bytes, y.bytes) && are_near(x.transactions, y.transactions);
  };
  return are_near_memory(left.loads, right.loads) && are_near_memory(left.stores, right.stores) &&
         are_near_memory(left.shared_loads, right.shared_loads) &&
         are_near_memory(left.shared_stores, right.shared_stores) && are_near(left.barriers, right.barriers);
}

// Counts come from the judged process and may be forged: malformed counts are unlike all others.
bool have_alike_counts(const nlohmann::json& a, const nlohmann::json& b) {
  try {
    const auto left = counts_in(a), right = counts_in(b);
    return left && right ? are_alike_counts(*left, *right) : left.has_value() == right.has_value();
  } catch (const FormatError&) {
    return false;
  }
}

bool behave_alike(const Outcome& a, const Outcome& b) {
  if (a.failure.verdict != b.failure.verdict || a.fingerprint != b.fingerprint) return false;
  if (a.failure.verdict != VerdictClass::kPassed) return true;
  if (a.ranks.size() != b.ranks.size()) return false;
  for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
    const nlohmann::json &left = a.ranks[rank].answer, &right = b.ranks[rank].answer;
    if (left.size() != right.size() || a.ranks[rank].bytes_sent != b.ranks[rank].bytes_sent) return false;
    if (!have_alike_counts(left, right)) return false;
    for (const auto& [name, value] : left.items())
      if (name != kKernelCountsField && !(right.contains(name) && are_alike(value, right[name]))) return false;
  }
  return true;
}

bool did_not_end(const Failure& failure) {
  const VerdictClass verdict = failure.verdict;
  return verdict == VerdictClass::kHang || verdict == VerdictClass::kLoop || verdict == VerdictClass::kSlow ||
         failure.is_killed;
}

// Parts of a failure's text come from the judged program, and must neither control a terminal nor fill a page.
Failure in_plain_text(Failure failure) {
  constexpr std::size_t kMostLines = 100, kMostOfLine = 500, kMostOfSummary = 2000;
  failure.summary = plain_text(failure.summary, kMostOfSummary, LineBreaks::kKeep);
  failure.next = plain_text(failure.next, kMostOfSummary, LineBreaks::kKeep);
  if (failure.evidence.size() > kMostLines) {
    failure.evidence.resize(kMostLines);
    failure.evidence.emplace_back("...");
  }
  for (std::string& line : failure.evidence) line = plain_text(line, kMostOfLine, LineBreaks::kReplace);
  return failure;
}

bool behave_alike(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  return std::ranges::equal(a, b, [](const Outcome& left, const Outcome& right) { return behave_alike(left, right); });
}

// In parallel: a trial that hangs takes a second of waiting.
void for_each_entry(std::size_t count, const std::function<void(std::size_t)>& try_entry) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> workers;
  for (int i = 0; i < kTriedAtOnce; ++i) {
    workers.push_back(std::async(std::launch::async, [&] {
      for (std::size_t k = next++; k < count; k = next++) try_entry(k);
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
}

}  // namespace

const Outcome& Check::run(const TrialOptions& options) {
  outcomes_.reserve(64);  // references stay valid
  require(outcomes_.size() < 64, "exercise: a check of more than 64 trials");
  if (std::chrono::steady_clock::now() > last_begin_)
    throw CheckFailed{{.verdict = VerdictClass::kSlow, .summary = "all checks together take too long"}};
  outcomes_.push_back(run_trial(subject_, options));
  Outcome& outcome = outcomes_.back();
  for (const RankOutcome& rank : outcome.ranks)
    if (options.counts_messages) outcome.fingerprint += concat(" ", rank.messages);
  if (outcome.failure.verdict == VerdictClass::kPassed) {
    answer_bytes_ += outcome.answer_bytes;
    if (answer_bytes_ > kMostKeptBytes) throw FormatError("answers that are too long");
    return outcome;
  }
  Failure failure = outcome.failure;
  if (!options.setting.empty() && failure.verdict != VerdictClass::kTodo)
    failure.summary = concat(options.setting, ": ", failure.summary);
  throw CheckFailed{failure};
}

template <typename T>
std::vector<T> Check::numbers(const Outcome& outcome, int rank, const std::string& name) {
  const nlohmann::json& answer = outcome.ranks.at(static_cast<std::size_t>(rank)).answer;
  try {
    if (answer.contains(name)) return numbers_in<T>(answer.at(name));
  } catch (const FormatError&) {  // reported below
  }
  throw CheckFailed{
      {.verdict = VerdictClass::kCrash, .summary = concat("rank ", rank, " gave no \"", name, "\" back")}};
}

template <typename T>
T Check::get(const Outcome& outcome, int rank, const std::string& name) {
  try {
    return outcome.ranks.at(static_cast<std::size_t>(rank)).answer.at(name).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw CheckFailed{
        {.verdict = VerdictClass::kCrash, .summary = concat("rank ", rank, " gave no \"", name, "\" back")}};
  }
}

template std::vector<float> Check::numbers(const Outcome&, int, const std::string&);
template std::vector<double> Check::numbers(const Outcome&, int, const std::string&);
template std::vector<std::int32_t> Check::numbers(const Outcome&, int, const std::string&);
template std::vector<std::int64_t> Check::numbers(const Outcome&, int, const std::string&);
template std::vector<std::uint8_t> Check::numbers(const Outcome&, int, const std::string&);
template int Check::get(const Outcome&, int, const std::string&);
template std::int64_t Check::get(const Outcome&, int, const std::string&);
template double Check::get(const Outcome&, int, const std::string&);
template bool Check::get(const Outcome&, int, const std::string&);
template std::string Check::get(const Outcome&, int, const std::string&);

void Check::compare(const std::string& what, std::span<const float> got, std::span<const double> expected,
                    const Comparison& comparison) {
  if (got.size() != expected.size())
    wrong(concat(what, " has ", counted(got.size(), "element"), "; ", expected.size(), " were expected"));
  const Tolerance tolerance{comparison.relative, comparison.absolute};
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (tolerance.accepts(got[i], expected[i])) continue;
    Failure failure{.summary =
                        concat(what, ", element ", i, ": expected ", shown(expected[i]), ", got ", shown(got[i]))};
    std::string meaning = comparison.knowledge ? explain_array(got, expected, tolerance, *comparison.knowledge) : "";
    if (meaning.empty() && comparison.explain) meaning = comparison.explain(i, got[i], expected[i]);
    if (!meaning.empty()) failure.summary += concat(": ", meaning);
    throw CheckFailed{failure};
  }
}

void Check::compare(const std::string& what, std::span<const std::int64_t> got,
                    std::span<const std::int64_t> expected) {
  if (got.size() != expected.size())
    wrong(concat(what, " has ", counted(got.size(), "element"), "; ", expected.size(), " were expected"));
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i]) wrong(concat(what, ", element ", i, ": expected ", expected[i], ", got ", got[i]));
}

void Check::wrong(const std::string& summary, const std::string& next, const std::vector<std::string>& evidence) {
  throw CheckFailed{{.summary = summary, .evidence = evidence, .next = next}};
}

Examination::Examination(Subject subject, Thoroughness thoroughness, std::uint64_t seed)
    : subject_(std::move(subject)), thoroughness_(thoroughness), seed_(seed) {}

void Examination::begin_none_after(std::chrono::seconds seconds) noexcept {
  if (seconds.count() > 0) last_begin_ = std::chrono::steady_clock::now() + seconds;
}

std::string Examination::reason_to_skip() const {
  if (most_unending_ > 0 && unending_ >= most_unending_)
    return concat("not tried, because ", unending_, " other checks did not end");
  if (std::chrono::steady_clock::now() > last_begin_) return "not tried, because the checks before it took too long";
  return "";
}

void Examination::add(const std::string& name, double points, bool is_full_only, const Function& function) {
  if (!only_.empty() && name != only_) return;
  if (thoroughness_ == Thoroughness::kQuick && (first_failure_ || is_full_only)) return;
  if (stops_at_failure_ && first_quick_failure_) return;
  CheckResult result{.name = name, .points = points, .is_full_only = is_full_only};
  if (const std::string reason = reason_to_skip(); !reason.empty()) {
    result.failure = Failure{.verdict = VerdictClass::kSkipped, .summary = reason};
    results_.push_back(std::move(result));
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  Check check(subject_, seed_, last_begin_);
  const Failure nonsense{.verdict = VerdictClass::kCrash, .summary = "the program's answer makes no sense"};
  try {
    function(check);
  } catch (const CheckFailed& failed) {
    result.failure = failed.failure;
  } catch (const nlohmann::json::exception&) {
    result.failure = nonsense;
  } catch (const FormatError&) {
    result.failure = nonsense;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.failure) result.failure = in_plain_text(std::move(*result.failure));
  if (result.failure && did_not_end(*result.failure)) ++unending_;
  if (result.failure && !first_failure_) first_failure_ = {result, check.outcomes()};
  if (result.failure && !is_full_only && !first_quick_failure_) first_quick_failure_ = {result, check.outcomes()};
  results_.push_back(std::move(result));
}

std::vector<LikelyMistake> likely_mistakes(const Examination& failed, const Subject& bank, Judge judge,
                                           std::uint64_t seed) {
  const auto& failure = failed.first_failure();
  if (!failure) return {};
  const nlohmann::json entries = list_mistakes(bank);
  const auto behaves_alike_in = [&](const Subject& subject, const std::string& only) {
    Examination exam(subject, failure->result.is_full_only ? Thoroughness::kFull : Thoroughness::kQuick, seed);
    exam.run_only(only);
    judge(exam);
    const auto& same = exam.first_failure();
    return same && same->result.name == failure->result.name && behave_alike(failure->outcomes, same->outcomes);
  };
  // Most mistakes already behave differently in the failed check, and need not be tried in those before it.
  const auto behaves_alike = [&](const nlohmann::json& entry) {
    Subject subject = bank;
    subject.mistake = entry.at("name");
    return behaves_alike_in(subject, failure->result.name) && behaves_alike_in(subject, "");
  };
  std::vector<char> is_alike(entries.size());
  for_each_entry(entries.size(), [&](std::size_t k) { is_alike[k] = behaves_alike(entries[k]); });
  std::vector<LikelyMistake> likely;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (is_alike[i] != 0) likely.push_back({entries[i]["name"], entries[i]["description"], entries[i]["advice"]});
  return likely;
}

std::vector<BankEntry> examine_bank(const Subject& bank, Judge judge, std::uint64_t seed) {
  using FirstFailure = std::optional<Examination::FirstFailure>;
  const nlohmann::json entries = list_mistakes(bank);
  std::vector<FirstFailure> failures(entries.size()), quick(entries.size());
  const auto examine = [&](std::size_t k) {
    Subject subject = bank;
    subject.mistake = entries[k].at("name");
    Examination exam(subject, Thoroughness::kFull, seed);
    exam.stop_at_failure();
    judge(exam);
    failures[k] = exam.first_failure();
    quick[k] = exam.first_quick_failure();
  };
  // As in likely_mistakes(): by quick checks alone if the failed one is quick.
  const auto is_alike = [&](const FirstFailure& failure, std::size_t other_index) {
    const FirstFailure& other = failure->result.is_full_only ? failures[other_index] : quick[other_index];
    return other && other->result.name == failure->result.name && behave_alike(failure->outcomes, other->outcomes);
  };
  const auto alike_to = [&](std::size_t i) {
    std::vector<std::size_t> alike;
    for (std::size_t j = 0; failures[i] && j < entries.size(); ++j)
      if (is_alike(failures[i], j)) alike.push_back(j);
    return alike;
  };
  for_each_entry(entries.size(), examine);
  // On a busy machine a late rank may fail like another mistake's; such mistakes are tried once more, one at a time.
  std::vector<std::size_t> again;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (alike_to(i).size() > 1) again.push_back(i);
  std::ranges::for_each(again, examine);
  std::vector<BankEntry> result;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    BankEntry entry{.name = entries[i].at("name"), .failure = {}};
    if (failures[i]) entry.failure = failures[i]->result;
    for (const std::size_t j : alike_to(i)) entry.alike.push_back(entries[j].at("name"));
    result.push_back(std::move(entry));
  }
  return result;
}

namespace {

// Recognizes a sum of 8^r multiplied or divided by a small number; "" for the sum itself and for other values.
std::string explain_factor(double value, int world_size) {
  const double sum = (std::pow(8.0, world_size) - 1) / 7;
  constexpr int kMostRounding = 1'000'000;  // of a float
  for (int factor = 2; factor <= 64 && world_size > 1; ++factor) {
    if (value == sum * factor) return concat(factor, " times the sum");
    if (std::abs(value * factor - sum) * kMostRounding < sum) return concat("this is the sum, divided by ", factor);
  }
  return "";
}

// True if a sum of powers of 8 contains one of them more than once.
bool counts_somebody_twice(double sum) {
  for (auto rest = static_cast<std::int64_t>(sum); rest > 0; rest /= 8)
    if (rest % 8 > 1) return true;
  return false;
}

}  // namespace

std::string explain_sum(double value, int world_size) {
  const bool is_decodable = value >= 0 && value == std::floor(value) && value < std::pow(8.0, world_size);
  // In a sum of two or three ranks, one rank's share is the sum divided by a small number, an unlikely mistake.
  if (!is_decodable || counts_somebody_twice(value))
    if (std::string factor = explain_factor(value, world_size); !factor.empty()) return factor;
  if (!is_decodable) return "";
  std::string text;
  auto rest = static_cast<std::int64_t>(value);
  for (int rank = 0; rank < world_size; ++rank, rest /= 8) {
    const std::int64_t times = rest % 8;
    if (times == 1) continue;
    text += concat(text.empty() ? "" : ", ", "rank ", rank);
    text += times == 0 ? " missing" : times == 2 ? " counted twice" : concat(" counted ", times, " times");
  }
  return text;
}

std::vector<float> random_floats(std::uint64_t seed, std::uint64_t stream, std::size_t count) {
  PhiloxSequence random(mix64(seed, stream));
  std::vector<float> values(count);
  for (float& value : values) value = 2 * uniform_float(random.next_word()) - 1;
  return values;
}

std::vector<float> position_values(int rank, std::size_t count) {
  require(count <= kPositions, "exercise: ", count, " position values; at most ", kPositions, " are possible");
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(static_cast<std::size_t>(rank + 1) * kPositions + i);
  return values;
}

std::string explain_position(double value, int rank) {
  if (!(value >= kPositions && value < (kMostRanks + 1) * kPositions) || value != std::floor(value)) return "";
  const auto whole = static_cast<std::size_t>(value);
  const auto owner = static_cast<int>(whole / kPositions) - 1;
  const std::size_t element = whole % kPositions;
  return owner == rank ? concat("its own element ", element) : concat("element ", element, " of rank ", owner);
}

std::string shown(double value) {
  if (std::isnan(value)) return "nan";  // ignores its sign
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace lockstep::exercise

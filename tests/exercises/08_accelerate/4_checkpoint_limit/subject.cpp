#include "exercise/subject.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>

#include "08_accelerate/4_checkpoint_limit/checkpoint_limit.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::int64_t kMostCalls = 500;
constexpr std::int64_t kNever = kMostCalls;

// Ends a run as losing power does: no handler for errors is meant to stop it.
struct PowerFailure {};

// The content under a name.
struct Entry {
  bool is_complete = true;  // as written
  bool is_damaged = false;  // what is, or would be, on the disk differs from it
  bool is_flushed = true;
};

enum class Disk : std::int64_t { kGood = 0, kFull = 1, kWritesSomethingElse = 2 };

// A folder in memory whose power fails during a given call.
class FailingStore final : public accelerate::CheckpointStore {
 public:
  FailingStore(std::map<std::string, Entry> before, Disk disk, std::int64_t failing_call)
      : entries(std::move(before)), disk_(disk), failing_call_(failing_call) {}

  void write(const std::string& name) override {
    if (is_off()) return;
    entries[name] = {.is_complete = false, .is_flushed = false};
    if (!call("write", name)) return;
    if (disk_ == Disk::kFull) throw IoError(concat("writing ", name), ENOSPC);
    entries[name] = {.is_damaged = disk_ == Disk::kWritesSomethingElse, .is_flushed = false};
  }
  void flush(const std::string& name) override {
    if (is_off() || !call("flush", name)) return;
    existing(name).is_flushed = true;
  }
  [[nodiscard]] bool verify(const std::string& name) override {
    if (is_off() || !call("verify", name)) return false;
    const Entry& entry = existing(name);
    return entry.is_complete && !(entry.is_flushed && entry.is_damaged);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (is_off() || !call("rename", concat(from, " to ", to))) return;
    const Entry entry = existing(from);
    entries.erase(from);
    entries[to] = entry;
  }
  void remove(const std::string& name) override {
    if (is_off() || !call("remove", name)) return;
    entries.erase(name);
  }
  [[nodiscard]] std::vector<std::string> list() override {
    std::vector<std::string> names;
    if (is_off() || !call("list", "")) return names;
    for (const auto& [name, entry] : entries) names.push_back(name);
    return names;
  }

  // The disk's content when the power is back: a checkpoint that is whole, and was flushed if the power has failed.
  [[nodiscard]] bool is_good(const Entry& entry) const {
    return entry.is_complete && !entry.is_damaged && (entry.is_flushed || !is_off_);
  }

  std::map<std::string, Entry> entries;
  std::vector<std::string> calls;

 private:
  // After the failure nothing has an effect. Destructors that tidy up on the way out may call.
  [[nodiscard]] bool is_off() const {
    if (is_off_ && std::uncaught_exceptions() == 0) throw PowerFailure{};
    return is_off_;
  }

  bool call(const char* operation, const std::string& name) {
    require(std::ssize(calls) < kMostCalls, "save_checkpoint: more than ", kMostCalls, " calls of the store");
    calls.push_back(name.empty() ? operation : concat(operation, " ", name));
    if (std::ssize(calls) - 1 != failing_call_) return true;
    is_off_ = true;
    if (std::uncaught_exceptions() == 0) throw PowerFailure{};
    return false;
  }

  Entry& existing(const std::string& name) {
    const auto found = entries.find(name);
    if (found == entries.end()) throw IoError(concat("there is no ", name), ENOENT);
    return found->second;
  }

  Disk disk_;
  std::int64_t failing_call_;
  bool is_off_ = false;
};

enum class End : std::int64_t { kReturned = 0, kThrew = 1, kPowerFailed = 2 };

End save(FailingStore& store, std::int64_t number, int total_limit) {
  try {
    accelerate::save_checkpoint(store, number, total_limit);
    return End::kReturned;
  } catch (const PowerFailure&) {
    return End::kPowerFailed;
  } catch (const IoError&) {
    return End::kThrew;
  }
}

// "step_3 step_7! notes": what is damaged is marked.
std::string describe(const FailingStore& store) {
  std::string text;
  for (const auto& [name, entry] : store.entries)
    text += concat(text.empty() ? "" : " ", name, store.is_good(entry) ? "" : "!");
  return text;
}

}  // namespace

// Saves once without a power failure, and then with one during each of the calls that this needed.
Answer answer(Question& question) {
  const auto number = question.get<std::int64_t>("number");
  const int total_limit = question.get<int>("total_limit");
  const Disk disk = static_cast<Disk>(question.get<std::int64_t>("disk"));
  std::map<std::string, Entry> before;
  for (const std::int64_t each : question.numbers<std::int64_t>("numbers"))
    before[accelerate::checkpoint_name(each)] = {};
  if (question.get<bool>("has_others")) {
    before[accelerate::kIncomplete] = {.is_complete = false};
    before["notes"] = before["step_001"] = before["step_by_step"] = {};
  }
  FailingStore undisturbed(before, disk, kNever);
  Answer result;
  result.set("end", static_cast<std::int64_t>(save(undisturbed, number, total_limit)));
  result.set("after", describe(undisturbed));
  std::string calls;
  for (const std::string& call : undisturbed.calls) calls += concat(calls.empty() ? "" : ", ", call);
  result.set("calls", calls);
  const std::int64_t failures = question.get<bool>("cuts_power") ? std::ssize(undisturbed.calls) : 0;
  for (std::int64_t call = 0; call < failures; ++call) {
    FailingStore store(before, disk, call);
    (void)save(store, number, total_limit);
    result.set(concat("after_", call), describe(store));
    result.set(concat("call_", call), store.calls.back());
  }
  result.set("failures", failures);
  return result;
}

}  // namespace lockstep::exercise

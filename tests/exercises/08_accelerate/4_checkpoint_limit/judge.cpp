#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_08_4 {

using Numbers = std::vector<std::int64_t>;

// The values that the subject has for them.
enum class Disk : std::int64_t { kGood = 0, kFull = 1, kWritesSomethingElse = 2 };
enum class End : std::int64_t { kReturned = 0, kThrew = 1, kPowerFailed = 2 };

// step_9 before step_10.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Names = std::set<std::string, ByNumber>;

// One call of save_checkpoint().
struct Scenario {
  Numbers numbers = {};  // of the checkpoints that are there
  std::int64_t number = 0;
  int total_limit = 0;
  Disk disk = Disk::kGood;
  bool has_others = false;  // the folder holds more than checkpoints
  bool cuts_power = false;

  [[nodiscard]] Names before() const {
    Names names;
    for (const std::int64_t each : numbers) names.insert(concat("step_", each));
    return names;
  }
  // The folder after a save that succeeds.
  [[nodiscard]] Names kept() const {
    Numbers all = numbers;
    if (std::ranges::find(all, number) == all.end()) all.push_back(number);
    std::ranges::sort(all, std::greater{});
    if (total_limit > 0 && std::ssize(all) > total_limit) all.resize(static_cast<std::size_t>(total_limit));
    Names names;
    for (const std::int64_t each : all) names.insert(concat("step_", each));
    return names;
  }
};

// The folder's content: names, and whether the files of each are complete.
struct Folder {
  Names good, damaged;

  explicit Folder(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const bool is_damaged = word.ends_with('!');
      if (is_damaged) word.pop_back();
      (is_damaged ? damaged : good).insert(word);
    }
  }
};

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += concat(text.empty() ? "" : ", ", name);
  return text.empty() ? "no checkpoint" : text;
}

// The files that people have put into the folder.
const Names kOthers = {"notes", "step_001", "step_by_step"};

bool is_checkpoint(const std::string& name) { return name.starts_with("step_") && !kOthers.contains(name); }

std::string describe(const Scenario& scenario) {
  return concat(listed(scenario.before()), scenario.numbers.size() < 2 ? " is" : " are", " there, and checkpoint ",
                scenario.number, " is saved with total_limit ", scenario.total_limit,
                scenario.disk == Disk::kFull                  ? ", but the disk is full"
                : scenario.disk == Disk::kWritesSomethingElse ? ", but the disk writes something else"
                                                              : "");
}

// A checkpoint of the folder's that is damaged, or one of `wanted` that has gone, is the failure.
void require_whole(Check& check, const Folder& folder, const Names& wanted, const std::string& situation,
                   const std::vector<std::string>& evidence, const std::string& why) {
  for (const std::string& name : folder.damaged)
    if (is_checkpoint(name))
      check.wrong(concat(situation, ": ", name, " is damaged"),
                  "a checkpoint gets its name when it is complete, flushed and verified", evidence);
  for (const std::string& name : wanted)
    if (!folder.good.contains(name)) check.wrong(concat(situation, ": ", name, " has gone; ", why), "", evidence);
}

void check_undisturbed(Check& check, const Scenario& scenario, const Outcome& outcome) {
  const std::string situation = describe(scenario);
  const Folder after(check.get<std::string>(outcome, 0, "after"));
  const std::vector<std::string> evidence{concat("the calls: ", check.get<std::string>(outcome, 0, "calls"))};
  const End end = static_cast<End>(check.get<std::int64_t>(outcome, 0, "end"));
  const bool succeeds = scenario.disk == Disk::kGood;
  const Names wanted = succeeds ? scenario.kept() : scenario.before();
  if (succeeds && end == End::kThrew) check.wrong(concat(situation, ": IoError was thrown"), "", evidence);
  require_whole(check, after, wanted, situation, evidence,
                succeeds ? concat(listed(wanted), " should be there") : "where saving fails, nothing is removed");
  for (const std::string& name : after.good)
    if (is_checkpoint(name) && !wanted.contains(name))
      check.wrong(concat(situation, ": ", name, " is there; only ", listed(wanted), " should be"), "", evidence);
  if (!succeeds && end != End::kThrew)
    check.wrong(concat(situation, ": the function returned; it should throw IoError"), "", evidence);
  if (after.damaged.contains("incomplete") || after.good.contains("incomplete"))
    check.wrong(concat(situation, ": \"incomplete\" is still there; when a save is over, nothing unfinished is"), "",
                evidence);
  for (const std::string& name : scenario.has_others ? kOthers : Names())
    if (!after.good.contains(name))
      check.wrong(concat(situation, ": ", name, " is no checkpoint, but was removed from the folder"),
                  "number_of() returns nothing for a name that is not a checkpoint's", evidence);
}

void check_power_failure(Check& check, const Scenario& scenario, const Outcome& outcome, std::int64_t call) {
  const std::string situation = concat(describe(scenario), ". The power fails during call ", call, ", \"",
                                       check.get<std::string>(outcome, 0, concat("call_", call)), "\"");
  const std::vector<std::string> evidence{
      concat("the calls, if nothing fails: ", check.get<std::string>(outcome, 0, "calls"))};
  const Folder after(check.get<std::string>(outcome, 0, concat("after_", call)));
  // How the function ended does not matter: without power it has not gone on, whatever a destructor has caught.
  const std::string name = concat("step_", scenario.number);
  const bool is_saved = after.good.contains(name) && !scenario.before().contains(name);
  Names wanted = is_saved ? scenario.kept() : scenario.before();
  if (scenario.before().contains(name)) {  // its old and its new state look alike: what both keep must be there
    const Names kept = scenario.kept();
    std::erase_if(wanted, [&](const std::string& each) { return !kept.contains(each); });
  }
  require_whole(
      check, after, wanted, situation, evidence,
      is_saved ? "it is one of those that are kept" : "the new checkpoint is not there yet, so nothing may be removed");
}

void check_save(Check& check, const Scenario& scenario) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"numbers", to_message(std::span<const std::int64_t>(scenario.numbers))},
                          {"number", scenario.number},
                          {"total_limit", scenario.total_limit},
                          {"disk", static_cast<std::int64_t>(scenario.disk)},
                          {"has_others", scenario.has_others},
                          {"cuts_power", scenario.cuts_power}};
  }});
  check_undisturbed(check, scenario, outcome);
  const auto failures = check.get<std::int64_t>(outcome, 0, "failures");
  for (std::int64_t call = 0; call < failures; ++call) check_power_failure(check, scenario, outcome, call);
}

}  // namespace checks_08_4

void judge_08_4(Examination& exam) {
  using namespace checks_08_4;
  exam.check("the first checkpoint", [](Check& check) { check_save(check, {.number = 0, .total_limit = 2}); });
  exam.check("the oldest of four is removed", [](Check& check) {
    check_save(check, {.numbers = {1, 2, 5}, .number = 9, .total_limit = 3});
  });
  exam.check("numbers of one and two digits", [](Check& check) {
    check_save(check, {.numbers = {8, 9, 10}, .number = 11, .total_limit = 2});
  });
  exam.check("without a limit", [](Check& check) { check_save(check, {.numbers = {1, 2, 3}, .number = 4}); });
  exam.check("a folder with other things in it", [](Check& check) {
    check_save(check, {.numbers = {3, 5}, .number = 7, .total_limit = 3, .has_others = true});
  });
  exam.check("the disk is full", [](Check& check) {
    check_save(check, {.numbers = {3, 5}, .number = 7, .total_limit = 2, .disk = Disk::kFull});
  });
  exam.check("the disk is full, and more checkpoints are there than are kept", [](Check& check) {
    check_save(check, {.numbers = {1, 2, 3, 5}, .number = 7, .total_limit = 2, .disk = Disk::kFull});
  });
  exam.check("the disk writes something else", [](Check& check) {
    check_save(check, {.numbers = {3, 5}, .number = 7, .total_limit = 2, .disk = Disk::kWritesSomethingElse});
  });
  exam.check("the disk writes something else, and the number is there already", [](Check& check) {
    check_save(check, {.numbers = {5, 7}, .number = 7, .total_limit = 2, .disk = Disk::kWritesSomethingElse});
  });
  exam.check("the disk writes something else, and the power fails", [](Check& check) {
    check_save(
        check,
        {.numbers = {3, 5}, .number = 7, .total_limit = 2, .disk = Disk::kWritesSomethingElse, .cuts_power = true});
  });
  exam.check("the power fails, with a limit of 2", [](Check& check) {
    check_save(check, {.numbers = {2, 3, 5}, .number = 7, .total_limit = 2, .cuts_power = true});
  });
  exam.check("the power fails, with a limit of 1", [](Check& check) {
    check_save(check, {.numbers = {5}, .number = 7, .total_limit = 1, .cuts_power = true});
  });
  exam.check("the power fails, and the number is there already", [](Check& check) {
    check_save(check, {.numbers = {5, 7}, .number = 7, .total_limit = 2, .cuts_power = true});
  });
  exam.full_check("many folders, limits and disks", [](Check& check) {
    PhiloxSequence random(check.seed(), 86);
    for (int round = 0; round < 12; ++round) {
      Scenario scenario{.numbers = {}, .total_limit = static_cast<int>(random.next_below(5)), .cuts_power = true};
      scenario.disk = static_cast<Disk>(random.next_below(3));
      scenario.has_others = random.next_below(2) == 1;
      const auto count = static_cast<std::int64_t>(random.next_below(6));
      while (std::ssize(scenario.numbers) < count)
        scenario.numbers.push_back(scenario.number += 1 + static_cast<std::int64_t>(random.next_below(6)));
      scenario.number += static_cast<std::int64_t>(random.next_below(5));
      check_save(check, scenario);
    }
  });
}

}  // namespace lockstep::exercise

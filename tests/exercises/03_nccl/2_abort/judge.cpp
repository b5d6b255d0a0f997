#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_03_2 {

// The last rank's behaviour, as in subject.cpp. With one rank the collective is done when the function is called.
enum class Conduct : int { kComesLate, kVanishes, kStaysAway };

struct Scene {
  int world_size;
  Conduct conduct;
  int limit_ms;             // of the deadline
  bool looks_late = false;  // is called when the collective is done and the deadline has expired
  bool is_busy = false;     // the communicator's last call is in progress until the collective is done
};

constexpr int kPlenty = 60'000;
// Shorter than the second after which a trial in which nothing moves is called a hang.
constexpr int kLittle = 500;

double share_of(int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); }

const Outcome& run(Check& check, const Scene& scene) {
  return check.run({.world_size = scene.world_size, .question = [&](int rank) {
                      const std::vector<float> values(100, static_cast<float>(share_of(rank)));
                      return nlohmann::json{{"conduct", static_cast<int>(scene.conduct)},
                                            {"limit_ms", scene.limit_ms},
                                            {"looks_late", scene.looks_late},
                                            {"is_busy", scene.is_busy},
                                            {"values", to_message(std::span<const float>(values))}};
                    }});
}

const Outcome& play(Check& check, const Scene& scene) {
  try {
    return run(check, scene);
  } catch (CheckFailed& failed) {
    if (failed.failure.verdict == VerdictClass::kHang && scene.conduct != Conduct::kComesLate)
      failed.failure.next =
          concat("rank ", scene.world_size - 1, " does so on purpose: give up, and call nothing that waits");
    throw;
  }
}

std::string said(const std::string& thrown) {
  return thrown.empty() ? "it returned" : concat("it threw ", thrown == "IoError" ? "an " : "a ", thrown);
}

void expect_success(Check& check, const Scene& scene, const std::string& next) {
  const Outcome& outcome = play(check, scene);
  double sum = 0;
  for (int rank = 0; rank < scene.world_size; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < scene.world_size; ++rank) {
    const auto thrown = check.get<std::string>(outcome, rank, "thrown");
    if (!thrown.empty())
      check.wrong(concat("rank ", rank, ": the collective was done in time, and ", said(thrown)), next);
    check.expect(check.get<int>(outcome, rank, "aborts") == 0,
                 concat("rank ", rank, ": the collective was done, and the communicator was aborted"),
                 "abort only before you throw");
    check.expect(check.get<bool>(outcome, rank, "is_done"),
                 concat("rank ", rank, ": the function returned before the collective was done"),
                 "cudaErrorNotReady means: not yet");
    check.compare(concat("rank ", rank, "'s values"), check.numbers<float>(outcome, rank, "values"),
                  std::vector<double>(100, sum));
  }
}

void expect_error(Check& check, const Scene& scene, const std::string& error, const std::string& what,
                  const std::string& next) {
  const Outcome& outcome = play(check, scene);
  for (int rank = 0; rank < scene.world_size - 1; ++rank) {
    const auto thrown = check.get<std::string>(outcome, rank, "thrown");
    const std::string who = concat("rank ", rank, ", while ", what);
    if (thrown != error)
      check.wrong(concat(who, ": it should throw ", error == "IoError" ? "an " : "a ", error, ", but ", said(thrown)),
                  next);
    check.expect(error != "IoError" || check.get<bool>(outcome, rank, "has_words"),
                 concat(who, ": the IoError does not say what NCCL has noticed"),
                 "put ncclGetErrorString(error) into the message: the error that ncclCommGetAsyncError() wrote");
    check.expect(!check.get<bool>(outcome, rank, "is_early"), concat(who, ": the deadline had not expired yet"));
    const int aborts = check.get<int>(outcome, rank, "aborts");
    if (aborts != 1)
      check.wrong(concat(who, ": it threw, after ", aborts, " calls of ncclCommAbort(); there should be one"),
                  aborts == 0 ? "without the abort the stream waits forever: abort, then throw" : "");
  }
}

void vanish(Check& check, int world_size) {
  expect_error(check, {world_size, Conduct::kVanishes, kLittle}, "IoError",
               concat("rank ", world_size - 1, " vanishes"),
               "NCCL notices that the connection is gone: ask it with ncclCommGetAsyncError() in every round");
}

void stay_away(Check& check, int world_size) {
  expect_error(check, {world_size, Conduct::kStaysAway, kLittle}, "TimeoutError",
               concat("rank ", world_size - 1, " does not call the collective"),
               "nobody has failed here: only the deadline can tell");
}

}  // namespace checks_03_2

void judge_03_2(Examination& exam) {
  using namespace checks_03_2;
  exam.check("the collective is done already", [](Check& check) {
    expect_success(check, {1, Conduct::kComesLate, kPlenty}, "");
  });
  exam.check("a rank comes late, before the deadline", [](Check& check) {
    expect_success(check, {2, Conduct::kComesLate, kPlenty}, "look at the deadline, not at how often you have asked");
  });
  exam.check("a rank comes late, and the communicator is busy meanwhile", [](Check& check) {
    expect_success(check, {2, Conduct::kComesLate, kPlenty, false, true},
                   "ncclInProgress is not an error: the communicator is busy with a call, so go on waiting");
  });
  exam.check("a rank vanishes", [](Check& check) { vanish(check, 2); });
  exam.check("a rank stays away", [](Check& check) { stay_away(check, 2); });
  exam.check("done, and looked at after the deadline", [](Check& check) {
    expect_success(check, {1, Conduct::kComesLate, 50, true}, "first ask whether it is done, then whether it is late");
  });
  exam.full_check("4 ranks", [](Check& check) {
    expect_success(check, {4, Conduct::kComesLate, kPlenty}, "");
    vanish(check, 4);
    stay_away(check, 4);
  });
}

}  // namespace lockstep::exercise
